#include "dump/session/uncaught.h"

#include <cxxabi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <string_view>
#include <typeinfo>

#include "core_engine/base/log.h"

namespace msdbg::dump {
namespace {

std::terminate_handler g_previous = nullptr;
std::atomic<bool> g_told{false};

constexpr const char* kAdvice = " (MSDBG_ABORT=1 aborts where it is thrown: for a debugger or a core dump)";

bool abortIsWanted() {
  const char* value = getenv("MSDBG_ABORT");
  return value && *value && std::string_view(value) != "0";
}

std::string typeName(const std::type_info* type) {
  if (!type) return "another language";  // a foreign exception has none
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), free);
  return status == 0 ? plain.get() : type->name();
}

// To be called while an exception is being handled.
UncaughtFailure failureInFlight() {
  try {
    throw;
  } catch (const UsageFailure& failure) {
    return {failure.what(), kUsageStatus};
  } catch (const std::runtime_error& failure) {
    return {failure.what(), kFailureStatus};
  } catch (const std::bad_alloc& failure) {
    return {std::string("out of memory (") + failure.what() + "): a smaller batch or model needs less",
            kFailureStatus};
  } catch (const std::exception& failure) {
    return {typeName(&typeid(failure)) + ": " + failure.what() + kAdvice, kFailureStatus};
  } catch (...) {
    return {"an exception of type " + typeName(abi::__cxa_current_exception_type()) + kAdvice,
            kFailureStatus};
  }
}

// Not exit(): other threads still run, and destructors of statics would pull the ground from under them.
[[noreturn]] void endWithFailure(const UncaughtFailure& failure) {
  if (!g_told) core::logError(failure.text);
  std::cout.flush();
  fflush(nullptr);
  _exit(*failure.exitStatus);
}

void onUncaught() {
  const UncaughtFailure failure = uncaughtFailure();
  if (failure.exitStatus) endWithFailure(failure);
  g_previous();  // aborts
}

}  // namespace

UncaughtFailure uncaughtFailure() {
  if (!std::current_exception()) return {"std::terminate was called", std::nullopt};
  UncaughtFailure failure;
  try {
    std::rethrow_exception(std::current_exception());
  } catch (...) {
    failure = failureInFlight();
  }
  if (abortIsWanted()) failure.exitStatus.reset();
  return failure;
}

void reportUncaughtFailures() {
  static const bool once = [] {
    g_previous = std::set_terminate(onUncaught);
    return true;
  }();
  (void)once;
}

void uncaughtFailureIsTold() { g_told = true; }

}  // namespace msdbg::dump
