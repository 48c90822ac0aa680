// check(): evaluates watchpoints over a source and names the first thing that is wrong, cause rather than
// symptom.
#pragma once

#include <limits>

#include "core_engine/base/text.h"
#include "watchpoints/condition.h"

namespace msdbg::watch {

struct Hit : Finding {
  const ConditionDef* condition = nullptr;
  Severity effectiveSeverity = Severity::kFault;
  std::int64_t order = -1;  // of the node: Step::time(); -1 for sources (before every node)
  /// Of what is after every node: that the run failed between two iterations.
  static constexpr std::int64_t kAfterAll = std::numeric_limits<std::int64_t>::max();
  std::string_view whatNext() const { return advice.empty() ? condition->advice : std::string_view(advice); }
};

/// A finding of the watchpoint's condition, with the severity that the watchpoint gives it.
Hit hitOf(const Watchpoint& watchpoint, Steps& steps, Finding finding);

struct CheckOptions {
  std::vector<core::Rank> ranks = {};  // empty: all
  core::IndexList iterations = core::IndexList::all();
  core::CancelToken cancel = {};
  std::function<void(double share)> progress = {};  // may be empty
};

struct CheckReport {
  std::optional<Hit> first;       // faults only: least (iteration, order, rank, precedence)
  std::vector<Hit> firstPerRank;  // one entry per rank that has a fault, by rank
  /// Sorted the same way. One per watchpoint, severity, tensor and rank: the first iteration it fires in;
  /// `detail` counts the later ones. At one place a hit across ranks comes after a rank's own hit that
  /// explains it.
  std::vector<Hit> hits, hints;
  std::vector<NotEvaluable> notEvaluable;  // one per (condition, reason, tensor), with a count
  std::int64_t evaluated = 0;              // (condition, tensor, iteration, rank) answered
  bool cancelled = false;
};

CheckReport check(Source& source, const std::vector<Watchpoint>& watchpoints, const CheckOptions& options);

}  // namespace msdbg::watch
