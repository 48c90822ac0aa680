#include "app/cli/engine/bench_profile.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "core_engine/ops/functions.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/trainer.h"

namespace msdbg::app {
namespace {

constexpr std::int64_t kPeakSize = 2048;
constexpr int kPeakRuns = 7;

core::Tensor filled(float value) {
  core::Tensor matrix(core::DType::Float32, {kPeakSize, kPeakSize});
  std::ranges::fill(matrix.data<float>(), value);
  return matrix;
}

// "VmHWM:   123456 kB" of /proc/self/status.
std::uint64_t statusBytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
  return 0;
}

}  // namespace

std::vector<KernelTime> kernelTimes(core::Trainer& trainer, const core::DataLoader& loader,
                                    std::int64_t first, std::int64_t steps) {
  core::Executor& executor = trainer.executor();
  executor.enableProfile(true);
  for (std::int64_t step = first; step < first + steps; ++step)
    trainer.step(loader.batch(core::Iteration(step), core::Rank(0), 1));
  const std::vector<double> spent = executor.profile();
  executor.enableProfile(false);
  std::map<std::string, KernelTime> byName;
  for (const core::Kernel& kernel : trainer.graph().kernels()) {
    KernelTime& time = byName[kernel.name];
    time.name = kernel.name;
    time.calls += 1;
    time.ms += spent.at(kernel.id.index()) * 1e3 / static_cast<double>(steps);
  }
  std::vector<KernelTime> times;
  for (auto& [name, time] : byName) times.push_back(std::move(time));
  std::ranges::stable_sort(times, std::greater<>(), &KernelTime::ms);
  return times;
}

core::Result<double> sgemmPeak(int threads) {
  core::Graph graph("peak");
  const core::Value a = graph.input("a", {kPeakSize, kPeakSize}),
                    b = graph.input("b", {kPeakSize, kPeakSize});
  core::matmul(a, b);
  core::ExecutorOptions options;
  options.threads = threads;
  MSDBG_ASSIGN(const auto executor, core::Executor::create(graph, options));
  const core::Feeds feeds = {{a.id(), filled(0.5f)}, {b.id(), filled(0.25f)}};
  double least = 1e9;
  for (int run = 0; run < kPeakRuns; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    MSDBG_TRY(executor->evaluate(feeds));
    least = std::min(least, secondsSince(begin));
  }
  return 2.0 * kPeakSize * kPeakSize * kPeakSize / least / 1e9;
}

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

ProcessMemory processMemory() { return {statusBytes("VmHWM"), statusBytes("VmRSS")}; }

}  // namespace msdbg::app
