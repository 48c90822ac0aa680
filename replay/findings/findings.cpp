#include "replay/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core_engine/graph/roles.h"
#include "replay/describe.h"
#include "watchpoints/step.h"

namespace msdbg::replay {

using core::Iteration;
using core::Node;
using core::Rank;
using core::TensorId;
using watch::Hit;

namespace {

TensorId nextValueOf(const core::Graph& graph, TensorId carried) {
  for (const core::NodeId user : graph.consumers(carried))
    for (const TensorId output : graph.node(user).outputs)
      if (graph.tensor(output).updateOf == carried) return output;
  return {};
}

// What is carried has no row of its own where it is what the update before made: that one's is its.
std::optional<watch::StatisticsRow> statisticsOf(watch::Source& run, Rank rank, Iteration iteration,
                                                 TensorId tensor) {
  if (const watch::StatisticsRow* row = run.flags(rank, iteration, tensor)) return *row;
  if (!core::isCarried(run.graph().tensor(tensor)) || iteration.value == 0) return std::nullopt;
  const TensorId made = nextValueOf(run.graph(), tensor);
  const watch::StatisticsRow* row =
      made.valid() ? run.flags(rank, Iteration(iteration.value - 1), made) : nullptr;
  return row ? std::optional(*row) : std::nullopt;
}

// What the result on the rank was made of: of a collective what each of its ranks brought.
std::vector<HitInput> inputsOf(watch::Source& run, const Node& node, Rank rank, Iteration iteration) {
  std::vector<watch::Step::Call> calls = {{rank, node.id}};
  if (node.phase == core::Phase::kCollective)
    calls = watch::Steps(run).at(iteration).meeting(rank, node.id).senders;
  std::vector<HitInput> inputs;
  for (const auto& [from, id] : calls)
    for (const TensorId tensor : watch::inputsOf(run, from, iteration, run.graph().node(id)))
      inputs.push_back({tensor, from, statisticsOf(run, from, iteration, tensor)});
  return inputs;
}

std::string rankIn(const Hit& hit) { return fmt::format("rank {}", hit.rank.value); }

void addSameIteration(watch::Source& run, const watch::CheckReport& report, std::vector<std::string>& out) {
  const Hit& first = *report.first;
  std::set<TensorId> tensors;
  TensorId last;
  for (const Hit& hit : report.hits)
    if (hit.rank == first.rank && hit.iteration == first.iteration && hit.tensor.valid() &&
        hit.tensor != first.tensor && tensors.insert(hit.tensor).second)
      last = hit.tensor;
  if (tensors.empty()) return;
  out.push_back(fmt::format("{} of {} {} wrong in the same iteration too, the last one {}",
                            counted(static_cast<std::int64_t>(tensors.size()), "more tensor"), rankIn(first),
                            tensors.size() == 1 ? "is" : "are", tensorName(run.graph().tensor(last))));
}

void addOtherRanks(watch::Source& run, const watch::CheckReport& report, std::vector<std::string>& out) {
  for (const Hit& hit : report.firstPerRank) {
    if (hit.rank == report.first->rank) continue;
    out.push_back(fmt::format("{}: first wrong in iteration {} at {}{}", rankIn(hit), hit.iteration.value,
                              hitPlace(run.graph(), hit), hit.detail.empty() ? "" : " (" + hit.detail + ")"));
  }
}

void addParameters(watch::Source& run, const watch::CheckReport& report, std::vector<std::string>& out) {
  std::set<TensorId> parameters;
  std::optional<Iteration> since;
  for (const Hit& hit : report.hits) {
    if (!hit.tensor.valid() || hit.condition->effect != report.first->condition->effect) continue;
    const core::TensorInfo& tensor = run.graph().tensor(hit.tensor);
    const bool updated = tensor.role == core::TensorRole::kUpdated && tensor.updateOf.valid() &&
                         run.graph().tensor(tensor.updateOf).trainable;
    if (!updated || hit.rank != report.first->rank || hit.tensor == report.first->tensor) continue;
    parameters.insert(hit.tensor);
    if (!since) since = hit.iteration;
  }
  if (parameters.empty()) return;
  out.push_back(fmt::format("{} {} it over in the update of iteration {}",
                            counted(static_cast<std::int64_t>(parameters.size()), "parameter"),
                            parameters.size() == 1 ? "takes" : "take", since->value));
}

/// "is nan from iteration 716 on", "is nan in 497 of the 498 iterations from 2 on".
void addLoss(watch::Source& run, const watch::CheckReport& report, std::vector<std::string>& out) {
  const Hit& first = *report.first;
  std::optional<double> bad;
  Iteration since;
  std::int64_t times = 0, all = 0;
  bool endsFinite = false;
  for (const Iteration iteration : run.iterations(first.rank)) {
    const std::optional<double> loss =
        iteration < first.iteration ? std::nullopt : run.scalar(first.rank, iteration, "loss");
    if (!loss) continue;
    if (!std::isfinite(*loss) && !bad) bad = loss, since = iteration;
    times += !std::isfinite(*loss);
    all += bad.has_value();
    endsFinite = std::isfinite(*loss);
  }
  if (!bad) return;
  const std::string when = times == all
                               ? fmt::format("from iteration {} on", since.value)
                               : fmt::format("in {} of the {} iterations from {} on{}", times, all,
                                             since.value, endsFinite ? ", and finite in the end" : "");
  out.push_back(fmt::format("the loss of {} is {} {}", rankIn(first), core::formatDouble(*bad), when));
}

// What it came to in the end.
void addFailures(const watch::CheckReport& report, std::vector<std::string>& out) {
  for (const Hit& hit : report.hits)
    if (hit.condition->target == watch::Target::kRun && &hit != &report.hits.front())
      out.push_back(hit.detail);
}

}  // namespace

std::vector<FoldedHit> foldHits(const std::vector<Hit>& hits, HitDetail detail) {
  std::vector<FoldedHit> folded;
  std::map<std::tuple<std::string_view, TensorId, Rank>, std::size_t> places;
  for (const Hit& hit : hits) {
    const auto [place, isNew] = places.try_emplace({hit.condition->id, hit.tensor, hit.rank}, folded.size());
    if (isNew || detail == HitDetail::kAll) {
      folded.push_back({&hit, 1, hit.iteration.value});
      continue;
    }
    ++folded[place->second].occurrences;
    folded[place->second].lastIteration = hit.iteration.value;
  }
  return folded;
}

std::vector<HitInput> hitInputs(watch::Source& run, const Hit& hit) {
  if (!hit.node.valid()) return {};
  return inputsOf(run, run.graph().node(hit.node), hit.rank, hit.iteration);
}

std::vector<std::string> consequences(watch::Source& run, const watch::CheckReport& report) {
  std::vector<std::string> sentences;
  if (!report.first) return sentences;
  addSameIteration(run, report, sentences);
  addOtherRanks(run, report, sentences);
  addParameters(run, report, sentences);
  addLoss(run, report, sentences);
  addFailures(report, sentences);
  return sentences;
}

}  // namespace msdbg::replay
