// What happens to an exception that nobody catches: one line on stderr, status 1, and a recording that ends
// in good order. All that msdbg throws for a program's author is a std::runtime_error that says what, where,
// what to do; of another exception the type is told too. With MSDBG_ABORT=1 in the environment the program
// aborts instead, with the stack that threw: for a debugger or a core dump. Thread-safe.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace msdbg::dump {

inline constexpr int kFailureStatus = 1, kUsageStatus = 2;

/// A mistake in the options or variables that a program was started with: status 2, as of a command.
class UsageFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct UncaughtFailure {
  std::string text;               // one sentence
  std::optional<int> exitStatus;  // that the program ends with; nullopt: it aborts
};
/// Of the exception that ends the program; for a terminate handler. Without one (std::terminate() itself was
/// called, a joinable thread was destroyed) the program aborts: only a stack can say where.
UncaughtFailure uncaughtFailure();

/// From now on; once is enough for a process.
void reportUncaughtFailures();
/// Somebody says it already (the launcher, the end of the recording, another rank): nothing is printed then.
void uncaughtFailureIsTold();

}  // namespace msdbg::dump
