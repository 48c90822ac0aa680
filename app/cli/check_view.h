// A CheckReport as the command `check` shows it: JSON (check/1) and a report for people. Pure functions of
// the report and the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/json_output.h"
#include "app/cli/run_access.h"
#include "replay/findings.h"

namespace msdbg::app {

struct CheckView {
  const OpenedRun& run;
  const watch::CheckReport& report;
  std::vector<watch::Watchpoint> watchpoints;
  replay::HitDetail detail = replay::HitDetail::kFirstOfEach;
  std::optional<std::vector<replay::WhyStep>> why;  // nullopt: not asked for
};

Json checkJson(const CheckView& view);
std::string checkText(const CheckView& view);
/// Of a report in which no question was answered: the most common reason.
std::string whyNothingJudged(const watch::CheckReport& report);

}  // namespace msdbg::app
