// A CheckReport as the command `check` shows it: JSON (check/1) and a report for people. Pure functions of
// the report and the run.
#pragma once

#include <string>
#include <vector>

#include "app/cli/json_output.h"
#include "app/cli/run_access.h"
#include "watchpoints/check.h"

namespace msdbg::app {

enum class HitDetail { kFirstOnly, kFirstOfEach, kAll };

/// A hit of one condition at one place, and how often it came again later.
struct FoldedHit {
  const watch::Hit* hit = nullptr;  // the first one
  std::int64_t occurrences = 1;
  std::int64_t lastIteration = 0;
};
/// kFirstOfEach: one for each (condition, tensor, rank), in the order of the first ones.
std::vector<FoldedHit> foldHits(const std::vector<watch::Hit>& hits, HitDetail detail);

/// One step of the way from the first wrong node back to the sources: the input that looks worst.
struct WhyStep {
  core::TensorId tensor;
  core::Rank rank;
  std::optional<watch::StatisticsRow> statistics;
  std::optional<watch::StatisticsRow> before;  // the same tensor in the previous recorded iteration
};
std::vector<WhyStep> whyChain(const OpenedRun& run, const watch::Hit& hit);

struct CheckView {
  const OpenedRun& run;
  const watch::CheckReport& report;
  std::vector<watch::Watchpoint> watchpoints;
  HitDetail detail = HitDetail::kFirstOfEach;
  std::vector<WhyStep> why;  // empty: not asked for
};

Json checkJson(const CheckView& view);
std::string checkText(const CheckView& view);

/// The inputs of the node that a hit names, with their statistics; those of all ranks for a collective.
struct HitInput {
  core::TensorId tensor;
  core::Rank rank;
  std::optional<watch::StatisticsRow> statistics;
};
std::vector<HitInput> hitInputs(const OpenedRun& run, const watch::Hit& hit);

/// What followed from the first hit, one sentence each.
std::vector<std::string> consequences(const OpenedRun& run, const watch::CheckReport& report);

}  // namespace msdbg::app
