#include "dump/session/program_end.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <thread>

#include "dump/end_text.h"
#include "dump/hdf5/at_exit.h"
#include "dump/session/uncaught.h"

namespace msdbg::dump {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kStopGrace = std::chrono::seconds(2);  // for the iteration in progress
constexpr int kCrashGraceMs = 3000;                   // for the recorder, after a crash
constexpr std::array kStopSignals = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU};
constexpr std::array kFatalSignals = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

// Handlers can reach nothing but globals; there is one ProgramEnd per process.
struct State {
  std::atomic<int> stopSignal{0}, fatalSignal{0}, exitStatus{0};
  std::atomic<bool> recorded{false}, closing{false};
  std::atomic<bool> begun{false};  // whoever sets it calls `record`
  int wake = -1;                   // eventfd
  ProgramEnd::Record record;
  std::thread thread;
  std::terminate_handler previousTerminate = nullptr;
  struct sigaction previous[NSIG] = {};
};
State* g_state = nullptr;
alignas(16) char g_signalStack[65536];  // a stack overflow leaves no room on the thread's own

void wakeThread() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(g_state->wake, &one, sizeof one);
}

// Only once, whoever comes first; the others wait until it is done, but not for ever.
void recordOnce(const RunEnd& end) {
  if (!g_state->begun.exchange(true)) {
    g_state->record(end);
    g_state->recorded = true;
  }
  for (int waited = 0; !g_state->recorded && waited < kCrashGraceMs; ++waited) usleep(1000);
}

void onStopSignal(int signal) {
  if (g_state->recorded) ProgramEnd::endBySignal(signal);
  int none = 0;
  g_state->stopSignal.compare_exchange_strong(none, signal);
  wakeThread();
}

void onFatalSignal(int signal) {
  int none = 0;
  if (g_state->fatalSignal.compare_exchange_strong(none, signal) && !g_state->begun) {
    wakeThread();
    const timespec millisecond{0, 1000000};
    for (int waited = 0; !g_state->recorded && waited < kCrashGraceMs; ++waited)
      nanosleep(&millisecond, nullptr);
  }
  ProgramEnd::endBySignal(signal);
}

RunEnd endByException() {
  const UncaughtFailure failure = uncaughtFailure();
  RunEnd end;
  end.state = "failed";
  end.message = failure.text;
  end.exitStatus = failure.exitStatus;
  return end;
}

void onTerminate() {
  const RunEnd end = endByException();
  recordOnce(end);
  if (g_state->previousTerminate) g_state->previousTerminate();  // ends the process
  abort();
}

void onExit(int status, void*) {
  if (!g_state) return;
  RunEnd end;
  end.state = status == 0 ? "finished" : "failed";
  end.exitStatus = status;
  if (status != 0) end.message = "it called exit(" + std::to_string(status) + ")";
  recordOnce(end);
}

// The program did its work and says so; only what it was started for besides has failed.
void onExitStatus(int status, void* wanted) {
  if (status != 0) return;
  std::cout.flush();
  fflush(nullptr);
  _exit(static_cast<int>(reinterpret_cast<std::intptr_t>(wanted)));
}

void recordCrash() {
  RunEnd end;
  end.state = "killed";
  end.signal = g_state->fatalSignal;
  end.message = "crashed by signal " + signalText(*end.signal);
  recordOnce(end);
}

void recordStop() {
  const Clock::time_point deadline = Clock::now() + kStopGrace;
  while (!g_state->recorded && !g_state->closing && !g_state->fatalSignal && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (g_state->closing || g_state->fatalSignal || g_state->recorded) return;
  RunEnd end;
  end.state = "stopped";
  end.signal = g_state->stopSignal;
  end.message = "stopped by signal " + signalText(*end.signal);
  recordOnce(end);
  ProgramEnd::endBySignal(*end.signal);
}

void threadMain() {
  bool stopping = false;
  while (!g_state->closing) {
    pollfd wake{g_state->wake, POLLIN, 0};
    if (poll(&wake, 1, -1) <= 0) continue;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = read(g_state->wake, &count, sizeof count);
    if (g_state->stopSignal && !stopping) {
      stopping = true;
      recordStop();
    }
    if (g_state->fatalSignal && !g_state->recorded) recordCrash();
  }
}

// The thread takes no signals: they belong to the program's own threads.
void startThread() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  g_state->thread = std::thread(threadMain);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// What the program was told to ignore (nohup, a job in the background) it goes on ignoring.
void handle(int signal, void (*handler)(int), int flags) {
  sigaction(signal, nullptr, &g_state->previous[signal]);
  if (g_state->previous[signal].sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

ProgramEnd::ProgramEnd(Record record) {
  static bool registered = false;
  static State& state = *new State;  // never destroyed: exit() may come while its thread still runs
  state.recorded = state.closing = state.begun = false;
  state.stopSignal = state.fatalSignal = 0;
  state.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  state.record = std::move(record);
  g_state = &state;
  startThread();
  const stack_t stack{g_signalStack, 0, sizeof g_signalStack};
  sigaltstack(&stack, nullptr);
  for (int signal : kStopSignals) handle(signal, onStopSignal, SA_RESTART);
  for (int signal : kFatalSignals) handle(signal, onFatalSignal, SA_ONSTACK);
  state.previousTerminate = std::set_terminate(onTerminate);
  prepareHdf5();  // closed by an exit handler of its own, it could not record any more
  if (!registered) on_exit(onExit, nullptr);
  registered = true;
}

ProgramEnd::~ProgramEnd() {
  g_state->closing = true;
  wakeThread();
  g_state->thread.join();
  for (int signal : kStopSignals) sigaction(signal, &g_state->previous[signal], nullptr);
  for (int signal : kFatalSignals) sigaction(signal, &g_state->previous[signal], nullptr);
  std::set_terminate(g_state->previousTerminate);
  close(g_state->wake);
  g_state->record = nullptr;
  g_state = nullptr;
}

int ProgramEnd::stopSignal() const { return g_state->stopSignal; }

void ProgramEnd::recorded() { g_state->begun = g_state->recorded = true; }

void ProgramEnd::setExitStatus(int status) {
  on_exit(onExitStatus, reinterpret_cast<void*>(static_cast<std::intptr_t>(status)));
}

void ProgramEnd::endBySignal(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  _exit(128 + signal);
}

}  // namespace msdbg::dump
