// What the benchmarks share: stopping on an error, time, medians, one rank without signals, rows of the
// table. One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core_engine/distributed/communicators.h"
#include "core_engine/train/run_context.h"

namespace msdbg::bench {

[[noreturn]] inline void fail(const std::string& message) {
  std::fprintf(stderr, "benchmark: %s\n", message.c_str());
  std::exit(1);
}

template <typename T>
T require(core::Result<T> result) {
  if (!result) fail(result.error().message());
  return std::move(result).value();
}

inline void require(const core::Status& status) {
  if (!status.ok()) fail(status.error().message());
}

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

inline double quartile(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 4];
}

/// One rank, no signals, and whichever observer the measurement wants.
class BenchContext : public core::RunContext {
 public:
  BenchContext(core::Observer* observer, int threads) : watching(observer), m_threads(threads) {}
  core::Observer* watching;
  core::Communicator& communicator() override { return *m_communicator; }
  core::Observer* observer() override { return watching; }
  std::uint64_t seed() const override { return 1; }
  int threads() const override { return m_threads; }
  const std::vector<core::FaultSpec>& faults() const override { return m_faults; }
  std::int64_t steps(std::int64_t fallback) const override { return fallback; }
  bool stopRequested() override { return false; }

 private:
  std::unique_ptr<core::Communicator> m_communicator = core::makeLocalCommunicator();
  int m_threads;
  std::vector<core::FaultSpec> m_faults;
};

inline void row(const char* what, double value, const char* unit, const char* against) {
  std::printf("%-44s %10.3f %-8s %s\n", what, value, unit, against);
}

}  // namespace msdbg::bench
