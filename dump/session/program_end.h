// ProgramEnd: notices every way in which a training program can end and calls `record` once with it, while
// there is still time: SIGTERM and SIGINT, crashes (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL), uncaught
// exceptions, exit(). The signal handlers themselves only wake a thread. One instance per process; made and
// destroyed by the training thread. `record` may be called from that thread or from ProgramEnd's own.
#pragma once

#include <functional>
#include <string>

#include "dump/run_info.h"

namespace msdbg::dump {

class ProgramEnd {
 public:
  using Record = std::function<void(const RunEnd&)>;
  explicit ProgramEnd(Record record);
  /// Puts back what was there before. What ends the program from now on is not recorded.
  ~ProgramEnd();
  ProgramEnd(const ProgramEnd&) = delete;
  ProgramEnd& operator=(const ProgramEnd&) = delete;

  /// The signal that asks the program to stop, 0: none so far. When the training thread has not called
  /// recorded() within the grace time, the end is recorded from the other thread and the process ends by that
  /// signal.
  int stopSignal() const;
  /// The end of the run is on disk: nothing more to do when a signal comes.
  void recorded();
  /// An exit status that the program gets if it would end with 0 (only the recorder failed).
  static void setExitStatus(int status);
  /// Ends the process by the signal, as if nobody had handled it.
  [[noreturn]] static void endBySignal(int signal);
};

}  // namespace msdbg::dump
