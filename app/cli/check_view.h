// A CheckReport as the command `check` shows it: JSON (check/1) and a report for people. Pure functions of
// the report and the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/json_output.h"
#include "app/cli/run_access.h"
#include "replay/findings.h"
#include "replay/loss_course.h"
#include "replay/proof.h"
#include "replay/verdict.h"

namespace msdbg::app {

struct CheckView {
  const OpenedRun& run;
  const watch::CheckReport& report;
  std::vector<watch::Watchpoint> watchpoints;
  replay::Verdict verdict;
  replay::HitDetail detail = replay::HitDetail::kFirstOfEach;
  std::optional<std::vector<replay::WhyStep>> why;  // nullopt: not asked for
  bool recomputes = false;                          // what was not recorded was computed again
  std::optional<replay::Mismatch> differs = {};     // and first differs from what was recorded there
};

/// "no fault found"; "FIRST WRONG: tensor_overflow at network/conv1/Conv-op1, rank 1, iteration 7". How the
/// run ended and what could not be read belongs behind it.
std::string headline(const CheckView& view);
Json checkJson(const CheckView& view);
std::string checkText(const CheckView& view);

}  // namespace msdbg::app
