// Where no rule explains a wrong output: the input that is wrong in the same way, or unusual.
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core_engine/base/text.h"
#include "watchpoints/blame/blame.h"
#include "watchpoints/blame/look.h"
#include "watchpoints/blame/usual_range.h"

namespace msdbg::watch {
namespace {

using core::Rank;
using core::TensorId;
using core::TensorStatistics;

/// An input as it was on a rank: a collective has those of all ranks.
struct Candidate {
  core::NodeId node;  // that has the input
  std::size_t input = 0;
  TensorId tensor;
  Rank rank;
  TensorStatistics values;
};

std::vector<Step::Call> callsOf(Look& look) {
  if (look.node().phase != core::Phase::kCollective) return {{look.rank(), look.node().id}};
  return Steps(look.source()).at(look.iteration()).meeting(look.rank(), look.node().id).senders;
}

std::vector<Candidate> candidatesOf(Look& look) {
  Source& source = look.source();
  std::vector<Candidate> candidates;
  for (const auto& [rank, node] : callsOf(look)) {
    // Of the node itself as the look numbers them: of another framework's in the order that ours has.
    const bool own = node == look.node().id && rank == look.rank();
    const auto inputs = own ? std::span<const TensorId>(look.node().inputs)
                            : inputsOf(source, rank, look.iteration(), look.graph().node(node));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const core::TensorInfo& info = look.graph().tensor(inputs[i]);
      const bool number = core::isFloating(info.dtype) && info.role != core::TensorRole::kLabel;
      const StatisticsRow* row = number ? source.statistics(rank, look.iteration(), info.id) : nullptr;
      if (row) candidates.push_back({node, i, info.id, rank, row->values});
    }
  }
  return candidates;
}

Blame blameCandidate(Look& look, const Candidate& c, const std::string& what, Wrong wrong) {
  const bool elsewhere = c.node != look.node().id;
  Blame blame;
  if (elsewhere)
    blame = {.input = c.input,
             .tensor = c.tensor,
             .rank = c.rank,
             .text = shownName(look.graph().tensor(c.tensor)) + " " + what,
             .advice = {},
             .wrong = wrong};
  else
    blame = look.blame(c.input, what, wrong);
  if (c.rank != look.rank()) blame.text += " on rank " + std::to_string(c.rank.value);
  if (elsewhere) blame.text += ", from " + look.graph().node(c.node).name;
  blame.rank = c.rank;
  return blame;
}

std::string countsText(const TensorStatistics& s) {
  const std::pair<std::int64_t, const char*> counts[] = {
      {s.nan, "NaN"}, {s.posInf, "Inf"}, {s.negInf, "-Inf"}};
  std::vector<std::string> parts;
  for (const auto& [count, name] : counts)
    if (count > 0) parts.push_back(std::to_string(count) + " " + name);
  return "holds " + core::join(parts, ", ");
}

/// NaN makes NaN; Inf may be wanted, as in a mask. Of equals the one made earlier.
std::optional<Blame> nonFiniteInput(Look& look, const std::vector<Candidate>& candidates) {
  const Candidate* best = nullptr;
  const auto rank = [&](const Candidate& c) {
    const int kind = c.values.nan > 0 ? 0 : c.values.posInf > 0 ? 1 : 2;
    return std::tuple(kind, look.graph().tensor(c.tensor).producer, c.rank);
  };
  for (const Candidate& c : candidates)
    if (c.values.nonFinite() > 0 && (!best || rank(c) < rank(*best))) best = &c;
  if (!best) return std::nullopt;
  return blameCandidate(look, *best, countsText(best->values), Wrong::kNonFinite);
}

std::string zeroPlaces(Look& look, const Candidate& c) {
  return c.node == look.node().id ? look.places(c.input, c.values.zero, {}) : "";
}

/// Gradients first: where nothing flows back, a forward value that is zero too has not stopped it.
std::optional<Blame> zeroInput(Look& look, const std::vector<Candidate>& candidates) {
  for (const bool gradient : {true, false})
    for (const Candidate& c : candidates)
      if ((look.graph().tensor(c.tensor).role == core::TensorRole::kGradient) == gradient &&
          c.values.count > 0 && c.values.zero == c.values.count)
        return blameCandidate(look, c, "is 0" + zeroPlaces(look, c), Wrong::kAllZero);
  if (look.wrong() != Wrong::kZero || candidates.size() != 1 || candidates[0].values.zero == 0)
    return std::nullopt;
  return blameCandidate(look, candidates[0], "is 0" + zeroPlaces(look, candidates[0]), Wrong::kZero);
}

std::optional<Blame> unusualInput(Look& look, const std::vector<Candidate>& candidates) {
  std::optional<Blame> blame;
  double most = kUsualFactor;
  for (const Candidate& c : candidates) {
    if (c.values.nonFinite() > 0) continue;
    const auto usual = usualRange(look.source(), c.rank, look.iteration(), c.tensor);
    const double times = unusualness(c.values, usual);
    if (times <= most) continue;
    most = times;
    blame = blameCandidate(look, c, unusualText(c.values, usual), Wrong::kExtreme);
  }
  return blame;
}

}  // namespace

std::optional<Blame> blameInput(Source& source, Rank rank, core::Iteration iteration, const core::Node& node,
                                TensorId output, Wrong wrong) {
  if (std::optional<Blame> blame = blameOperator(source, rank, iteration, node, output, wrong)) return blame;
  Look look(source, rank, iteration, node, output, wrong);
  const std::vector<Candidate> candidates = candidatesOf(look);
  std::optional<Blame> blame;
  if (wrong == Wrong::kNonFinite) blame = nonFiniteInput(look, candidates);
  if (wrong == Wrong::kAllZero || wrong == Wrong::kZero) blame = zeroInput(look, candidates);
  return blame ? blame : unusualInput(look, candidates);
}

}  // namespace msdbg::watch
