// msdbg_bench: what recording costs, as ratios measured in one run (never a timed test): the time that each
// way adds to a step of training, against one memory read of as many bytes, or what write() of them adds to
// the same step. Prints tables. msdbg_bench [--light] [MODEL…]: alexnet and gpt unless named; --light: no
// values; MSDBG_BENCH_DIR: where to record (/dev/shm).
#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core_engine/base/openmp_waiting.h"
#include "core_engine/base/philox.h"
#include "core_engine/models/model.h"
#include "core_engine/train/trainer.h"
#include "dump/reader/run_reader.h"
#include "dump/writer/recorder.h"
#include "tests/bench/observers.h"
#include "tests/bench/support.h"

using namespace msdbg;
using namespace msdbg::bench;
namespace fs = std::filesystem;

namespace {

constexpr int kMostSteps = 8, kRounds = 5, kWarmUp = 2;
constexpr int kLongRounds = 3;  // of recordings that are long before they are measured
// Of steps with and as many without, for what adds less than a step varies; a turn's first is not counted.
constexpr int kTurns = 48, kTurnSteps = 5;
constexpr std::uint64_t kRoundBytes = 4ull << 30;  // of a recording, which may lie in memory

struct Way {
  std::string name;
  dump::Policy policy = dump::Policy::kFull;
  bool compress = false;
  std::optional<dump::WritingWay> write = {};
  bool isFull = false;  // --max-size has room for twice the steps that are measured, and was full before
};

/// Other programs' share of the machine is not recording's: the least is nearest to the truth.
struct Seconds {
  double step = 1e9;   // the least step
  double round = 1e9;  // a step of the least round, with everything committed
};

struct Measured : Seconds {
  dump::RecordingTimes times;  // of the last round
};

/// Seconds of steps whose turns follow one another, so that both meet the same machine. Other programs make
/// steps longer, never shorter: the lower quartile is nearer to the truth than the median.
struct Alternated {
  std::vector<double> with, without;
  double step() const { return quartile(without); }
  double adds() const { return quartile(with) - quartile(without); }
};

class Bench {
 public:
  Bench(const core::ModelInfo& model, fs::path folder) : m_model(model), m_folder(std::move(folder)) {
    core::LoaderOptions options;
    options.image = model.image;
    options.sequence = model.size.context;
    options.batch = model.batch;
    const auto loader = require(core::makeLoader(model.readsText() ? "words" : "digits", options));
    for (int i = 0; i < kMostSteps + kWarmUp; ++i)
      m_batches.push_back(loader->batch(core::Iteration(i), core::Rank(0), 1));
    Counter counter;
    Seconds ignored;
    train(&counter, ignored);
    m_bytes = counter.bytes() / static_cast<std::uint64_t>(m_steps + kWarmUp);
    m_steps = static_cast<int>(std::clamp<std::uint64_t>(kRoundBytes / m_bytes, 2, kMostSteps));
  }

  /// `finish` belongs to the time of the round.
  void train(
      core::Observer* observer, Seconds& seconds, const std::function<void()>& finish = [] {},
      int warmUp = kWarmUp) {
    Training training(*this, observer);
    const int batches = static_cast<int>(m_batches.size());
    for (int i = 0; i < warmUp; ++i) training.step(i % batches);
    const double start = now();
    for (int i = warmUp; i < warmUp + m_steps; ++i)
      seconds.step = std::min(seconds.step, training.step(i % batches));
    finish();
    seconds.round = std::min(seconds.round, (now() - start) / m_steps);
  }

  /// One training, observed for a turn and left alone for the next. (Two trainings have their memory in
  /// different places: an unobserved one beside another unobserved one took up to 2 % more or less.)
  Alternated alternate(core::Observer* observer) {
    Training training(*this, observer);
    Alternated seconds;
    std::vector<double> ignored;
    training.turn(observer, ignored);
    for (int i = 0; i < kTurns; ++i) {
      training.turn(observer, seconds.with);
      training.turn(nullptr, seconds.without);
    }
    return seconds;
  }
  Alternated alternate(const Way& way) {
    auto recorder = start(way);
    const Alternated seconds = alternate(recorder.get());
    require(recorder->finish({.state = "finished"}));
    require(recorder->status());
    return seconds;
  }

  /// Its recording stays until the next one.
  void record(const Way& way, Measured& measured) {
    auto recorder = start(way);
    train(
        recorder.get(), measured, [&] { require(recorder->finish({.state = "finished"})); }, warmUpOf(way));
    measured.times = recorder->times();
    require(recorder->status());
  }

  std::unique_ptr<dump::Recorder> start(const Way& way) const {
    const fs::path run = recording();
    fs::remove_all(run);
    claimMemory(way.isFull ? maxBytesOf(way) + written() : written());
    fs::create_directories(run);
    dump::RecordOptions options;
    options.policy = way.policy;
    options.compress = way.compress;
    options.maxBytes = maxBytesOf(way);
    dump::RunInfo info;
    info.model = std::string(m_model.name);
    info.policy = options;
    require(dump::writeRunInfo(run, info));
    return require(
        dump::Recorder::create({.run = run, .rank = core::Rank(0), .threads = m_threads}, options));
  }

  int warmUpOf(const Way& way) const { return kWarmUp + (way.isFull ? 4 * m_steps : 0); }

  void write(Seconds& seconds) {
    fs::remove_all(recording());
    claimMemory(written());
    Writer writer(m_folder / "plain");
    train(&writer, seconds);
    fs::remove_all(m_folder / "plain");
  }

  /// One read of as many bytes as a step has, from memory: they are more than a cache holds.
  double memoryReadSeconds() {
    if (m_memory.empty()) m_memory.assign(m_bytes / sizeof m_memory[0], 1);
    const double start = now();
    std::uint64_t sum = 0;
#pragma omp parallel for simd schedule(static) num_threads(m_threads) reduction(+ : sum)
    for (std::size_t i = 0; i < m_memory.size(); ++i) sum += m_memory[i];
    if (sum != m_memory.size()) fail("the sum is wrong");
    return now() - start;
  }

  fs::path recording() const { return m_folder / "recorded.msdbg"; }
  std::uint64_t bytesPerStep() const { return m_bytes; }
  int steps() const { return m_steps; }
  int threads() const { return m_threads; }
  const core::ModelInfo& model() const { return m_model; }
  fs::path folder() const { return m_folder; }

 private:
  std::uint64_t written() const { return static_cast<std::uint64_t>(m_steps + kWarmUp) * m_bytes; }
  std::uint64_t maxBytesOf(const Way& way) const {
    return way.isFull ? static_cast<std::uint64_t>(2 * m_steps) * m_bytes : 64ull << 30;
  }
  /// Whatever is written goes to memory that was just freed: a virtual machine that gave its free memory back
  /// to the host gets it again at a fifth of the speed, and who is measured first would pay for all.
  void claimMemory(std::uint64_t bytes) const {
    bytes += bytes / 8;  // tables of pages, journals
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) fail("no memory for what is to be written");
    ::munmap(memory, bytes);
  }

  class Training {
   public:
    Training(const Bench& bench, core::Observer* observer)
        : m_bench(bench),
          m_graph("network"),
          m_context(observer, bench.m_threads),
          m_loss(bench.m_model.build(m_graph, {.batch = bench.m_model.batch, .size = bench.m_model.size})),
          m_trainer(m_context, m_graph, m_loss, bench.m_model.optimizer) {}
    void turn(core::Observer* observer, std::vector<double>& seconds) {
      m_context.watching = observer;
      step(0);
      for (int i = 1; i < kTurnSteps; ++i) seconds.push_back(step(i));
    }
    double step(int batch) {
      const double begin = now();
      m_trainer.step(m_bench.m_batches[static_cast<std::size_t>(batch)]);
      return now() - begin;
    }

   private:
    const Bench& m_bench;
    core::Graph m_graph;
    BenchContext m_context;
    core::Value m_loss;
    core::Trainer m_trainer;
  };

  const core::ModelInfo& m_model;
  fs::path m_folder;
  int m_threads = omp_get_num_procs(), m_steps = kMostSteps;
  std::uint64_t m_bytes = 0;  // of all tensors of a step
  std::vector<core::Batch> m_batches;
  std::vector<std::uint64_t> m_memory;
};

struct Reads {
  double openSeconds = 0, tensorSeconds = 0, megabytesPerSecond = 0;
};

/// Opens the run anew and reads 64 stored tensors of at least 64 KiB drawn by a fixed seed.
Reads randomReads(const fs::path& run) {
  Reads reads;
  double start = now();
  auto reader = require(dump::RunReader::open(run));
  reads.openSeconds = now() - start;
  std::vector<core::TensorId> big;
  for (const core::TensorInfo& t : reader->graph().tensors())
    if (t.shape.known() && t.shape.elements() * 4 >= 65536 && t.dtype == core::DType::Float32)
      big.push_back(t.id);
  const auto iterations = reader->iterations(core::Rank(0));
  const core::RandomStream random(7, "bench/reads", 0);
  std::vector<double> seconds;
  double bytes = 0, all = 0;
  for (std::uint64_t i = 0; i < 64; ++i) {
    const core::Iteration iteration(iterations[random.bits(2 * i) % iterations.size()].iteration);
    const core::TensorId id = big[random.bits(2 * i + 1) % big.size()];
    start = now();
    const core::Tensor tensor = require(reader->tensor(core::Rank(0), iteration, id));
    seconds.push_back(now() - start);
    bytes += static_cast<double>(tensor.bytes());
    all += seconds.back();
  }
  reads.tensorSeconds = median(seconds);
  reads.megabytesPerSecond = bytes / all / 1e6;
  return reads;
}

constexpr dump::WritingWay kTeam{.inTeam = true}, kThread{};
std::vector<Way> ways = {{"stats", dump::Policy::kStats},
                         {"record", dump::Policy::kRecord},
                         {"full, raw", dump::Policy::kFull, false, kTeam},
                         {"full, raw, by a thread", dump::Policy::kFull, false, kThread},
                         {"full, raw, --max-size full", dump::Policy::kFull, false, kTeam, true},
                         {"full, compressed, --max-size full", dump::Policy::kFull, true, kTeam, true},
                         {"full, compressed", dump::Policy::kFull, true, kTeam}};

void printStages(const dump::RecordingTimes& times, int steps) {
  for (std::size_t i = 0; i < dump::kStages; ++i) {
    const dump::StageTime& stage = times.stages[i];
    std::printf("  %s %.1f", std::string(dump::stageName(static_cast<dump::Stage>(i))).c_str(),
                stage.seconds * 1e3 / steps);
  }
  std::printf("\n");
}

std::string times(double ratio, const char* of) {
  char text[96];
  std::snprintf(text, sizeof text, "%.2fx of %s", ratio, of);
  return text;
}

void printReads(Bench& bench) {
  const fs::path run = bench.recording();  // the last one: compressed
  const auto storage = require(dump::RunReader::open(run))->storage();
  row("compression", static_cast<double>(storage.rawBytes) / static_cast<double>(storage.storedBytes), "x",
      "raw / stored; equal values stored once");
  const Reads reads = randomReads(run);
  row("random tensor read, median", reads.tensorSeconds * 1e3, "ms",
      "64 tensors of 64 KiB or more, hash checked");
  row("random tensor read, rate", reads.megabytesPerSecond, "MB/s", "");
  row("open the run", reads.openSeconds * 1e3, "ms", "run.json, graph, journal");
}

/// What statistics and hashes add, against one memory read of as many bytes.
void measureLight(Bench& bench) {
  std::vector<double> reads;
  for (int i = 0; i < kTurns * kTurnSteps; ++i) reads.push_back(bench.memoryReadSeconds());
  const double memory = quartile(reads);
  Reader reader(bench.threads());
  const Alternated nothing = bench.alternate(nullptr), reading = bench.alternate(&reader);
  const double step = nothing.step();
  const auto print = [&](const std::string& name, const Alternated& seconds) {
    const double adds = seconds.adds(), of = seconds.step();
    row(name.c_str(), adds * 1e3, "ms",
        (times(adds / memory, "the memory read") + ", " + times((of + adds) / of, "the step")).c_str());
  };
  std::printf("lower quartiles of %d turns of %d steps with, and as many without\n", kTurns, kTurnSteps - 1);
  row("step, recording off", step * 1e3, "ms", "");
  row("one memory read of as many bytes", memory * 1e3, "ms", times(memory / step, "the step").c_str());
  print("nothing (how exact this is) adds", nothing);
  print("reading every tensor where it is adds", reading);
  for (const Way& way : ways)
    if (way.policy != dump::Policy::kFull) print(way.name + " adds", bench.alternate(way));
}

/// What writing everything adds, against write() of the same bytes.
void measureFull(Bench& bench) {
  Seconds off, write;
  std::map<std::string, Measured> measurements;
  for (int i = 0; i < kRounds; ++i) {
    bench.train(nullptr, off);
    bench.write(write);
    for (const Way& way : ways)
      if (!way.isFull || i < kLongRounds) bench.record(way, measurements[way.name]);
  }
  const double writeAdds = write.round - off.round;
  std::printf("least of %d rounds of %d steps\n", kRounds, bench.steps());
  row("step, recording off", off.round * 1e3, "ms", "");
  row("write() of every tensor adds", writeAdds * 1e3, "ms",
      times(write.round / off.round, "the step").c_str());
  for (const Way& way : ways) {
    const Measured& measured = measurements[way.name];
    if (way.policy == dump::Policy::kFull) {
      const double adds = measured.round - off.round;
      row((way.name + " adds").c_str(), adds * 1e3, "ms",
          (times(adds / writeAdds, "write()") + ", " + times(measured.round / off.round, "the step"))
              .c_str());
    } else {
      std::printf("%s:\n", way.name.c_str());
    }
    printStages(measured.times, bench.steps() + bench.warmUpOf(way));
  }
}

void measure(Bench& bench, bool lightOnly) {
  std::printf("%s, batch %lld, %d threads, %.0f MB of tensors a step; to %s\n\n",
              std::string(bench.model().name).c_str(), static_cast<long long>(bench.model().batch),
              bench.threads(), static_cast<double>(bench.bytesPerStep()) / 1e6,
              bench.folder().parent_path().c_str());
  measureLight(bench);
  if (lightOnly) return;
  measureFull(bench);
  printReads(bench);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  core::restartWithPatientThreads(argv);
  std::vector<std::string> names(argv + 1, argv + argc);
  const bool lightOnly = std::erase(names, "--light") > 0;
  if (names.empty()) names = {"alexnet", "gpt"};
  const char* where = std::getenv("MSDBG_BENCH_DIR");
  if (where)
    ways.push_back({"full, raw, past the page cache", dump::Policy::kFull, false,
                    dump::WritingWay{.inTeam = true, .direct = true}});
  const fs::path parent = where ? where : fs::exists("/dev/shm") ? "/dev/shm" : "/tmp";
  const fs::path folder = parent / ("msdbg_bench_" + std::to_string(getpid()));
  fs::create_directories(folder);
  for (const std::string& name : names) {
    const core::ModelInfo* model = core::findModel(name);
    if (!model) fail("unknown model '" + name + "'");
    Bench bench(*model, folder);
    measure(bench, lightOnly);
  }
  fs::remove_all(folder);
  return 0;
}
