// How a rank ended, as a sentence for people: the same in run.json, on the terminal and in a finding. Pure
// functions; thread-safe.
#pragma once

#include <string>

#include "core_engine/base/ids.h"
#include "dump/run_info.h"

namespace msdbg::dump {

/// "9 (SIGKILL)"
std::string signalText(int signal);
/// "the program" of a run with one rank, else "rank 1".
std::string rankName(core::Rank rank, int ranks);
/// Of an end that is failed or killed, as a rank's journal has it: "rank 1 was killed by signal 9 (SIGKILL)
/// at network/conv1/Conv-op1 in iteration 5". The place is said once: not again where the message has it.
std::string failureText(const RunEnd& end, core::Rank rank, int ranks);
/// What torch says in a rank whose partner is gone: it is not the one to blame.
bool lostAnother(const std::string& message);

}  // namespace msdbg::dump
