// What a check says besides the hits themselves: hits folded, their inputs, the way back, what followed. For
// the command line and the window alike. Functions of a report and the source it came from; not thread-safe,
// as the source is not.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "watchpoints/check.h"

namespace msdbg::replay {

enum class HitDetail { kFirstOnly, kFirstOfEach, kAll };

/// A hit of one condition at one place, and how often it came again later.
struct FoldedHit {
  const watch::Hit* hit = nullptr;  // the first one
  std::int64_t occurrences = 1;
  std::int64_t lastIteration = 0;
};
/// kFirstOfEach: one for each (condition, tensor, rank), in the order of the first ones.
std::vector<FoldedHit> foldHits(const std::vector<watch::Hit>& hits, HitDetail detail);

/// The inputs of the node that a hit names, with their statistics; those of all ranks for a collective.
struct HitInput {
  core::TensorId tensor;
  core::Rank rank;
  std::optional<watch::StatisticsRow> statistics;
};
std::vector<HitInput> hitInputs(watch::Source& run, const watch::Hit& hit);

/// One step of the way from the first wrong node back to where it began: the input that is to blame.
struct WhyStep {
  core::TensorId tensor;
  core::Rank rank;
  core::Iteration iteration;  // an earlier one than the hit's where an update made the value
  std::string reason;  // "input 1 (network/deviation) is 0 at [7, 0]: 0/0 gives NaN; add an epsilon …"
  std::optional<watch::StatisticsRow> statistics;
  std::optional<watch::StatisticsRow> before;  // the same tensor in the previous recorded iteration
};
/// Follows what the rules of the operators blame (watchpoints/blame), else what is wrong in the same way,
/// else what left its usual range; through collectives to the rank that sent it, and from a parameter to the
/// update that made it. Ends where every input is as usual. Empty: it went wrong in the node of the hit
/// itself.
std::vector<WhyStep> whyChain(watch::Source& run, const watch::Hit& hit);

/// What followed from the first hit, one sentence each.
std::vector<std::string> consequences(watch::Source& run, const watch::CheckReport& report);

// Hits in words, as every face says them.
std::span<const core::FrameId> framesOf(const core::Graph& graph, const watch::Hit& hit);
/// The node's name; for sources the tensor's; "the end of the run" where there is neither.
std::string hitPlace(const core::Graph& graph, const watch::Hit& hit);
/// The tensor as a command takes it; where there is none, the place.
std::string hitTensor(const core::Graph& graph, const watch::Hit& hit);
/// What was measured, and what was asked of it: "0 against abs_mean_lt = 1e-09"; "" where a condition has no
/// threshold.
std::string measuredText(const watch::Hit& hit);
/// "0 against abs_mean_lt = 1e-09, 3 elements wrong, the first is [0, 17]"; "" when nothing is known.
std::string valuesText(const core::Graph& graph, const watch::Hit& hit);
/// Where the first wrong element is, by dimension; nullopt: not known, or not within the tensor's shape.
std::optional<std::vector<std::int64_t>> wrongIndex(const core::Graph& graph, const watch::Hit& hit);
/// "Gradient vanishing: grad/…, float32 [64, 3], that is grad(network/conv1/weight)"
std::string whatText(const core::Graph& graph, const watch::Hit& hit);
/// "network/conv1/Conv-op1 (forward, order 3)"; "" for sources.
std::string nodeText(const core::Graph& graph, const watch::Hit& hit);
/// Of a NotEvaluable: "no_previous" -> "no iteration before it".
std::string reasonText(const std::string& reason);

}  // namespace msdbg::replay
