// msdbg_reader_bench MSDBG RUN: what reading a long run costs, each in a process of its own: CPU seconds and
// the most memory. Once before, so that the files are in the page cache. Prints a table. ./dev bench reader
// makes the run.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core_engine/distributed/communicators.h"
#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "dump/writer/recorder.h"
#include "replay/run.h"
#include "tests/bench/long_journal.h"
#include "tests/bench/support.h"

using namespace msdbg;
using namespace msdbg::bench;

namespace {

constexpr int kRanks = 4;
constexpr std::int64_t kBatch = 4, kSide = 8;

class ThreadRank : public core::RunContext {
 public:
  ThreadRank(core::Communicator& communicator, core::Observer& observer)
      : m_communicator(communicator), m_observer(observer) {}
  core::Communicator& communicator() override { return m_communicator; }
  core::Observer* observer() override { return &m_observer; }
  std::uint64_t seed() const override { return 1; }
  int threads() const override { return 1; }
  const std::vector<core::FaultSpec>& faults() const override { return m_faults; }
  std::int64_t steps(std::int64_t fallback) const override { return fallback; }
  bool stopRequested() override { return false; }

 private:
  core::Communicator& m_communicator;
  core::Observer& m_observer;
  std::vector<core::FaultSpec> m_faults;
};

core::Value lossOf(core::Graph& g) {
  core::Value x = flatten(g.input("x", {kBatch, 1, kSide, kSide}));
  const core::Value label = g.input("label", {kBatch}, core::DType::Int64);
  for (const auto& [name, width] : {std::pair("fc1", 24), std::pair("fc2", 16), std::pair("fc3", 10)}) {
    auto s = g.scope(name);
    x = linear(x, {.out = width});
    if (width > 10) x = relu(x);
  }
  return softmaxCrossEntropy(x, label);
}

void trainRank(const std::string& path, core::Communicator& communicator, std::int64_t steps) {
  dump::RecordOptions options;
  options.policy = dump::Policy::kStats;
  const auto recorder =
      require(dump::Recorder::create({path, communicator.rank(), kRanks, 1, nullptr, {}}, options));
  ThreadRank rank(communicator, *recorder);
  core::Graph graph("network");
  const core::Value loss = lossOf(graph);
  core::Trainer trainer(rank, graph, loss, core::Sgd{.lr = 0.01F, .momentum = 0.9F});
  core::LoaderOptions data;
  data.image = {1, kSide, kSide};
  data.batch = kBatch;
  const auto loader = require(core::makeLoader("digits", data));
  for (const core::Batch& batch : rank.shard(*loader, steps)) trainer.step(batch);
  require(recorder->finish({.state = "finished"}));
}

void record(const std::string& path, std::int64_t steps) {
  dump::RunInfo info;
  info.command = {"msdbg_reader_bench"};
  info.ranks = kRanks;
  info.end.state = "finished";
  std::filesystem::create_directories(path);
  require(dump::writeRunInfo(path, info));
  const auto communicators = core::makeThreadCommunicators(kRanks);
  std::vector<std::thread> ranks;
  for (const auto& communicator : communicators)
    ranks.emplace_back([&] { trainRank(path, *communicator, steps); });
  for (std::thread& rank : ranks) rank.join();
}

// The rows as a check asks for them: all tensors of an iteration, ranks in turn. A sum, so that they are
// read.
void walk(const std::string& path) {
  const auto run = require(replay::Run::open(path));
  const std::vector<core::Rank> ranks = run->ranks();
  std::int64_t rows = 0;
  double sum = 0;
  for (const core::Iteration iteration : run->iterations(ranks.front())) {
    for (const core::TensorInfo& tensor : run->graph().tensors()) {
      for (const core::Rank rank : ranks) {
        const watch::StatisticsRow* row = run->statistics(rank, iteration, tensor.id);
        if (!row) continue;
        ++rows;
        sum += row->values.meanAbs;
      }
    }
  }
  std::printf("%lld rows, sum %g\n", static_cast<long long>(rows), sum);
}

void verify(const std::string& path) {
  const auto run = require(replay::Run::open(path));
  if (!run->verifiable()->verify({}, {}).empty()) fail(path + " is damaged");
}

struct Cost {
  double cpuSeconds = 0, megabytes = 0;
};

// Its output is of no interest here.
Cost costOf(const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    if (!std::freopen("/dev/null", "w", stdout) || !std::freopen("/dev/null", "w", stderr)) _exit(126);
    work();
    _exit(0);
  }
  int status = 0;
  struct rusage used = {};
  if (wait4(child, &status, 0, &used) != child || !WIFEXITED(status)) fail("a child was killed");
  if (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127) fail("a command cannot be started");
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {seconds(used.ru_utime) + seconds(used.ru_stime), static_cast<double>(used.ru_maxrss) * 1024 / 1e6};
}

void execute(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

void print(const char* what, const std::function<void()>& work) {
  const Cost cost = costOf(work);
  std::printf("%-40s %8.2f s of CPU %8.0f MB\n", what, cost.cpuSeconds, cost.megabytes);
}

// A journal of a week: what opening costs where nothing else is read.
int journalOfAWeek(const std::string& msdbg, const std::string& run) {
  costOf([&] { writeLongRun(run, {}); });
  costOf([&] { execute({msdbg, "info", run}); });
  print("msdbg info, journal of a week", [&] { execute({msdbg, "info", run}); });
  print("msdbg search, journal of a week", [&] { execute({msdbg, "search", run, "x"}); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[3]) == "week") return journalOfAWeek(argv[1], argv[2]);
  const std::int64_t steps = argc == 4 ? std::atoll(argv[3]) : 0;
  if (steps < 1) fail("msdbg_reader_bench MSDBG RUN STEPS|week");
  const std::string msdbg = argv[1], run = argv[2], tensor = "fc2/weight";
  costOf([&] { record(run, steps); });
  costOf([&] { verify(run); });
  print("all rows, iteration by iteration", [&] { walk(run); });
  print("RunReader::verify", [&] { verify(run); });
  print("msdbg info", [&] { execute({msdbg, "info", run}); });
  print("msdbg stats --tensor fc2/weight", [&] { execute({msdbg, "stats", run, "--tensor", tensor}); });
  print("msdbg stats --tensor fc2/weight --json", [&] {
    execute({msdbg, "stats", run, "--tensor", tensor, "--json"});
  });
  print("msdbg verify", [&] { execute({msdbg, "verify", run}); });
  print("msdbg check", [&] { execute({msdbg, "check", run}); });
}
