#include "watchpoints/conditions/wrong_ranks.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "watchpoints/conditions/collective.h"

namespace msdbg::watch {
namespace {

using core::Hash128;
using core::Rank;

constexpr const char* kKeptInput = "kept its own local value instead of the sum over ranks";

using Opinion = std::optional<Verdict>;  // nullopt: this judge cannot tell

const core::Node* nodeOf(const EvaluationContext& context, const Divergent& d) {
  const core::NodeId producer = context.graph().tensor(d.tensor).producer;
  return producer.valid() ? &context.graph().node(producer) : nullptr;
}

/// Of the collective that made it, on the first rank.
Gathered gatheredOf(const EvaluationContext& context, const core::Node& node, const Divergent& d) {
  const Rank rank = d.hashes.front().first;
  return {node, rank, context.step.meeting(rank, node.id)};
}

bool someButNotAll(const std::vector<Rank>& wrong, const Divergent& d) {
  return !wrong.empty() && wrong.size() < d.hashes.size();
}

/// The rank whose learning rate is not what it was in the iteration before.
Opinion byHyperparameter(EvaluationContext& context, const Divergent& d) {
  if (!d.hyperparameter.valid()) return std::nullopt;
  std::vector<Rank> wrong;
  for (const auto& [rank, hash] : d.hashes) {
    const StatisticsRow* previous = context.rows.before(rank, d.hyperparameter);
    if (!previous) return std::nullopt;
    const Hash128 previousHash = previous->values.hash;
    const StatisticsRow* now = context.rows.now(rank, d.hyperparameter);
    if (!now) return std::nullopt;
    if (now->values.hash != previousHash) wrong.push_back(rank);
  }
  if (!someButNotAll(wrong, d)) return std::nullopt;
  return Verdict{wrong, "read another " + context.graph().tensor(d.hyperparameter).name + " than before", {}};
}

Opinion byKeptInput(EvaluationContext& context, const Divergent& d) {
  const core::Node* node = nodeOf(context, d);
  if (!node || !isCollective(*node)) return std::nullopt;
  const std::vector<Rank> kept = ranksThatKeptTheirInput(context, gatheredOf(context, *node, d));
  if (kept.empty()) return std::nullopt;
  return Verdict{kept, kKeptInput, {}};
}

Opinion byMajority(EvaluationContext&, const Divergent& d) {
  for (const auto& [rank, hash] : d.hashes) {
    std::vector<Rank> others;
    for (const auto& [other, otherHash] : d.hashes)
      if (otherHash != hash) others.push_back(other);
    if (2 * others.size() < d.hashes.size()) return Verdict{others, "is in the minority", {}};
  }
  return std::nullopt;
}

Opinion byRecomputedCollective(EvaluationContext& context, const Divergent& d) {
  const core::Node* node = nodeOf(context, d);
  if (!node || !isCollective(*node)) return std::nullopt;
  core::Result<core::Tensor> sum = recomputeCollective(context, gatheredOf(context, *node, d));
  if (!sum) return std::nullopt;
  const Hash128 expected = core::hashTensor(*sum);
  std::vector<Rank> wrong;
  for (const auto& [rank, hash] : d.hashes)
    if (hash != expected) wrong.push_back(rank);
  const bool kept = ranksThatKeptTheirInput(context, gatheredOf(context, *node, d)) == wrong;
  return Verdict{wrong, kept ? kKeptInput : "does not hold the rank-ordered sum of the recorded inputs",
                 std::move(sum).value()};
}

/// Only where the reference kernel gives the bits of at least one rank: else it says nothing about the
/// others.
Opinion byRecomputation(EvaluationContext& context, const Divergent& d) {
  const core::Node* node = nodeOf(context, d);
  if (!node || isCollective(*node)) return std::nullopt;
  Verdict verdict;
  for (const auto& [rank, hash] : d.hashes) {
    core::Result<core::Tensor> output = recomputeOutput(context.source, {d.iteration, rank, d.tensor});
    if (!output) return std::nullopt;
    if (core::hashTensor(*output) == hash) continue;
    if (verdict.wrong.empty()) verdict.expected = std::move(output).value();
    verdict.wrong.push_back(rank);
  }
  if (!someButNotAll(verdict.wrong, d)) return std::nullopt;
  verdict.reason = "does not hold what " + node->opType + " gives for the recorded inputs";
  return verdict;
}

Opinion byMean(EvaluationContext& context, const Divergent& d) {
  const core::Node* node = nodeOf(context, d);
  if (!node || !isCollective(*node)) return std::nullopt;
  const std::optional<std::vector<Rank>> off = ranksOffTheMean(context, gatheredOf(context, *node, d));
  if (!off || off->empty()) return std::nullopt;
  return Verdict{*off, "has a mean that is not the sum of the inputs' means", {}};
}

/// An update that changed nothing on some ranks, or one that moved an element much further than on any other
/// rank.
Opinion byChange(EvaluationContext& context, const Divergent& d) {
  std::vector<std::pair<double, Rank>> largest;
  for (const auto& [rank, hash] : d.hashes) {
    const StatisticsRow* row = context.rows.now(rank, d.tensor);
    if (!row || !row->change) return std::nullopt;
    // Not finite: as far as a value can move.
    largest.emplace_back(row->values.nonFinite() > 0 ? INFINITY : row->change->maxAbsChange, rank);
  }
  std::vector<Rank> unchanged;
  for (const auto& [change, rank] : largest)
    if (change == 0) unchanged.push_back(rank);
  if (someButNotAll(unchanged, d)) return Verdict{unchanged, "did not change its value", {}};
  std::ranges::sort(largest);
  const auto [most, rank] = largest.back();
  if (!(most > 4 * largest[largest.size() - 2].first)) return std::nullopt;
  return Verdict{{rank}, "changed an element much more than the other ranks did", {}};
}

}  // namespace

Verdict findWrongRanks(EvaluationContext& context, const Divergent& divergent) {
  constexpr Opinion (*kJudges[])(EvaluationContext&, const Divergent&) = {
      byHyperparameter, byMajority, byRecomputedCollective, byRecomputation, byKeptInput, byMean, byChange};
  for (const auto judge : kJudges)
    if (Opinion opinion = judge(context, divergent)) return std::move(*opinion);
  return {};
}

}  // namespace msdbg::watch
