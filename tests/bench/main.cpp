// msdbg_bench: what recording costs, as ratios measured in one run (never a timed test). Prints a table; the
// last column says against what. Alexnet at its default batch unless another built-in model is named as first
// argument.
#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core_engine/base/openmp_waiting.h"
#include "core_engine/models/model.h"
#include "core_engine/runtime/philox.h"
#include "core_engine/train/trainer.h"
#include "dump/reader/run_reader.h"
#include "dump/writer/recorder.h"
#include "tests/bench/support.h"

using namespace msdbg;
using namespace msdbg::bench;
namespace fs = std::filesystem;

namespace {

constexpr int kSteps = 12, kRounds = 5;

struct Block {
  double secondsPerStep = 0;  // with everything committed
  std::uint64_t written = 0;
};

class Bench {
 public:
  Bench(const core::ModelInfo& model, fs::path folder) : m_model(model), m_folder(std::move(folder)) {
    core::LoaderOptions options;
    options.image = model.image;
    options.batch = model.batch;
    m_loader = require(core::makeLoader("digits", options));
    for (int i = 0; i < kSteps; ++i)
      m_batches.push_back(m_loader->batch(core::Iteration(i), core::Rank(0), 1));
  }

  Block off() { return train(nullptr); }

  Block recorded(dump::Policy policy, const std::string& name) {
    const fs::path run = m_folder / name;
    fs::remove_all(run);
    fs::create_directories(run);
    dump::RecordOptions options;
    options.policy = policy;
    options.maxBytes = 16ull << 30;
    dump::RunInfo info;
    info.model = std::string(m_model.name);
    info.policy = options;
    require(dump::writeRunInfo(run, info));
    auto recorder = require(dump::Recorder::create({run, core::Rank(0), 1, m_threads}, options));
    const Block block = train(recorder.get());
    require(recorder->status());
    recorder.reset();
    info.end.state = "finished";
    require(dump::writeRunInfo(run, info));
    return block;
  }

  int threads() const { return m_threads; }

 private:
  Block train(dump::Recorder* recorder) {
    core::Graph graph("network");
    const core::Value loss =
        m_model.build(graph, {.batch = m_model.batch, .dropout = 0, .dtype = core::DType::Float32});
    BenchContext context(recorder, m_threads);
    core::Trainer trainer(context, graph, loss, m_model.optimizer);
    for (int i = 0; i < 2; ++i) trainer.step(m_batches[static_cast<std::size_t>(i)]);
    const double start = now();
    for (int i = 0; i < kSteps; ++i) trainer.step(m_batches[static_cast<std::size_t>(i)]);
    if (recorder) require(recorder->finish({.state = "finished"}));
    return {(now() - start) / kSteps, recorder ? recorder->bytesWritten() : 0};
  }

  const core::ModelInfo& m_model;
  fs::path m_folder;
  int m_threads = omp_get_num_procs();
  std::unique_ptr<core::DataLoader> m_loader;
  std::vector<core::Batch> m_batches;
};

/// Seconds to write() `bytes` to a new file in `folder` and fsync it: the limit for recording.
double plainWrite(const fs::path& folder, std::uint64_t bytes) {
  std::vector<char> block(4 << 20, 'x');
  const fs::path file = folder / "plain.bin";
  const double start = now();
  const int fd = ::open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (fd < 0) fail("cannot create " + file.string());
  for (std::uint64_t left = bytes; left > 0;) {
    const ssize_t n = ::write(fd, block.data(), std::min<std::uint64_t>(left, block.size()));
    if (n <= 0) fail("cannot write " + file.string());
    left -= static_cast<std::uint64_t>(n);
  }
  if (::fsync(fd) != 0) fail("cannot fsync " + file.string());
  ::close(fd);
  const double seconds = now() - start;
  fs::remove(file);
  return seconds;
}

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

}  // namespace

int main(int argc, char** argv) {
  core::restartWithPatientThreads(argv);
  const std::string name = argc > 1 ? argv[1] : "alexnet";
  const core::ModelInfo* model = core::findModel(name);
  if (!model) fail("unknown model '" + name + "'");
  const char* where = std::getenv("MSDBG_BENCH_DIR");
  const fs::path folder = fs::path(where                    ? where
                                   : fs::exists("/dev/shm") ? "/dev/shm"
                                                            : "/tmp") /
                          ("msdbg_bench_" + std::to_string(getpid()));
  fs::create_directories(folder);

  Bench bench(*model, folder);
  bench.off();
  std::vector<double> off, stats, full, write;
  Block last;
  for (int i = 0; i < kRounds; ++i) {
    off.push_back(bench.off().secondsPerStep);
    stats.push_back(bench.recorded(dump::Policy::kStats, "stats.msdbg").secondsPerStep);
    last = bench.recorded(dump::Policy::kFull, "full.msdbg");
    full.push_back(last.secondsPerStep);
    write.push_back(plainWrite(folder, last.written) / (kSteps + 2));
  }
  auto reader = require(dump::RunReader::open(folder / "full.msdbg"));
  const auto storage = reader->storage();
  reader.reset();
  const Reads reads = randomReads(folder / "full.msdbg");

  std::printf("%s, batch %lld, %d threads, digits; recording to %s; median of %d rounds of %d steps\n\n",
              name.c_str(), static_cast<long long>(model->batch), bench.threads(),
              folder.parent_path().c_str(), kRounds, kSteps);
  const double step = median(off), plain = median(write);
  const double recorded = static_cast<double>(storage.rawBytes) / (kSteps + 2);
  row("step, recording off", step * 1e3, "ms", "1.00x");
  const auto ratio = [&](const char* what, double seconds) {
    row(what, seconds * 1e3, "ms",
        (std::to_string(seconds / step).substr(0, 5) + "x of the step with recording off").c_str());
  };
  ratio("step, statistics of every tensor", median(stats));
  ratio("step, full tensors and statistics", median(full));
  row("recorded per step", recorded / 1e6, "MB", "before compression");
  row("recorded, full", recorded / median(full) / 1e6, "MB/s",
      "raw bytes over the whole step, committed and fsynced");
  row("added by full / plain write() of same bytes", (median(full) - step) / plain, "x",
      "same folder, fsynced");
  row("compression", static_cast<double>(storage.rawBytes) / static_cast<double>(storage.storedBytes), "x",
      "raw / stored");
  row("random tensor read, median", reads.tensorSeconds * 1e3, "ms",
      "64 tensors of 64 KiB or more, hash checked");
  row("random tensor read, rate", reads.megabytesPerSecond, "MB/s", "");
  row("open the run", reads.openSeconds * 1e3, "ms", "run.json, graph, journal");
  fs::remove_all(folder);
  return 0;
}
