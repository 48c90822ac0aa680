// What happens to a std::runtime_error that nobody catches: one line on stderr, status 1, no core dump. All
// that msdbg throws for a program's author (what, where, what to do) is one. Every other exception ends the
// program as it would without msdbg. Thread-safe.
#pragma once

namespace msdbg::dump {

inline constexpr int kFailureStatus = 1;

/// From now on; once is enough for a process.
void reportUncaughtFailures();
/// Somebody says it already (the launcher, the end of the recording, another rank): nothing is printed then.
void uncaughtFailureIsTold();

}  // namespace msdbg::dump
