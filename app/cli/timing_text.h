// Where the time of recording went (replay::RecordingTimes), for people and for programs. Pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/cli/json_output.h"
#include "replay/run.h"

namespace msdbg::app {

/// Of the ranks that came to their end.
using Timings = std::vector<std::pair<core::Rank, replay::RecordingTimes>>;
Timings timings(const replay::Run& run);

/// A table of stages for the rank that took longest, and a line for each of the others.
std::string timingText(const Timings& timings);
/// "recording took 0.51 s of 5.0 s (10.2 %) on rank 1, the slowest: snapshot 0.00, statistics 0.12, …"; ""
/// without any.
std::string timingLine(const Timings& timings);
/// What would make recording lighter, where training waited for it a fifth of the time and more; ""
/// elsewhere, and of runs of a few seconds.
std::string waitAdvice(const Timings& timings);
Json timingJson(const Timings& timings);

/// "0.4 s", "25 s", "3 min": of what is known roughly.
std::string aboutSeconds(double seconds);

}  // namespace msdbg::app
