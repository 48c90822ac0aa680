#include "dump/session/uncaught.h"

#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <iostream>
#include <stdexcept>

#include "core_engine/base/log.h"

namespace msdbg::dump {
namespace {

std::terminate_handler g_previous = nullptr;
std::atomic<bool> g_told{false};

// Not exit(): other threads still run, and destructors of statics would pull the ground from under them.
[[noreturn]] void endWithFailure(const std::runtime_error& failure) {
  if (!g_told) core::logError(failure.what());
  std::cout.flush();
  fflush(nullptr);
  _exit(kFailureStatus);
}

void onUncaught() {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::runtime_error& failure) {
    endWithFailure(failure);
  } catch (...) {  // a mistake in the program itself: a core dump helps
  }
  g_previous();  // aborts
}

}  // namespace

void reportUncaughtFailures() {
  static const bool once = [] {
    g_previous = std::set_terminate(onUncaught);
    return true;
  }();
  (void)once;
}

void uncaughtFailureIsTold() { g_told = true; }

}  // namespace msdbg::dump
