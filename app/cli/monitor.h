// Watches a run that was launched until nothing of it is left, and says how it ended. A rank that dies ends
// the run: the others get SIGTERM, so that they commit what they recorded, and SIGKILL after a grace time.
// One that makes no progress is named (it may be writing a checkpoint), and ends the run where that is asked
// for. Main thread only.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/cli/attempts.h"
#include "app/cli/launch.h"
#include "core_engine/base/cancel.h"
#include "dump/run_info.h"

namespace msdbg::app {

struct MonitorOptions {
  std::filesystem::path run;
  std::string id = {};          // of the run; "": nobody looks whether the program is started again
  double watchdogSeconds = 30;  // 0: no watchdog
  bool watchdogKills = false;
  bool asksStacks = false;                                          // it is a program in Python
  bool stopOnRecorderFailure = false;                               // what the ranks do (--on-error)
  core::CancelToken cancel;                                         // Ctrl-C: the ranks are asked to stop
  std::function<void(const dump::RunControl::Progress&)> progress;  // called about ten times a second
};

/// One that came to its end because the program was started again.
struct EndedAttempt {
  AttemptPlace place;
  dump::RunEnd end;
};

struct Outcome {
  dump::RunEnd end;    // of the last attempt
  int exitStatus = 0;  // of `msdbg dump`
  std::string error;   // for stderr where exitStatus is not 0
  AttemptPlace last = {};
  std::vector<EndedAttempt> before = {};
};

Outcome monitorRun(Launch& launch, const MonitorOptions& options);

}  // namespace msdbg::app
