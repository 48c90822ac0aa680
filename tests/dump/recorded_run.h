// A small training graph made by hand, its values as a function of (rank, tensor, iteration), and a recorder
// fed with them: what tests record without an engine. One thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "dump/reader/run_reader.h"
#include "dump/writer/recorder.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

/// Sources x, label (int64), weight, wide (float64), bytes (uint8); nodes Gemm, Relu, Tanh, Mask (bool), Loss
/// (scalar) and an update; with `large` also Big (1.2 MB a row) and Sparse (800 kB, mostly zeros).
core::Graph smallGraph(bool large = false, const std::string& sourceFile = "");

/// A constant network/<dtype> [3, 5] of every dtype, whose rows share chunks; of some also
/// network/large/<dtype>, with chunks of its own; and network/Relu-op1, an operator of ours in float16, in
/// which no kernel of ours computes.
core::Graph everyDTypeGraph();

/// Exactly the value that record() feeds; deterministic.
core::Tensor valueOf(const core::TensorInfo& tensor, std::int64_t iteration, std::int64_t rank = 0);
core::TensorId tensorNamed(const core::Graph& graph, const std::string& name);

/// run.json with this many ranks; the run's state is `running` until finished() rewrites it.
void writeInfo(const std::filesystem::path& run, int ranks = 1, const std::string& state = "running");

/// Feeds one iteration: all tensors, or those before `stopBefore` and no end.
void feed(dump::Recorder& recorder, const core::Graph& graph, std::int64_t iteration, std::int64_t rank = 0,
          std::optional<core::TensorId> stopBefore = {});

/// Neither checkpoints nor batches: only what the rules say.
dump::RecordOptions withoutReplay(dump::RecordOptions options = {});

/// So many lines of segments are in rank 0's journal.
std::size_t segmentsIn(const std::filesystem::path& run);

struct Recording {
  std::int64_t iterations = 5, rank = 0;
  int ranks = 1;
  bool commitEach = false;                               // one segment an iteration
  std::optional<core::TensorId> interruptedBefore = {};  // one more iteration, incomplete
  dump::RunEnd end{.state = "finished"};
  dump::WayTrial::Pace pace = {};
};
/// Records into the folder (made with run.json where missing). Throws what went wrong.
void record(const std::filesystem::path& run, const core::Graph& graph,
            const dump::RecordOptions& options = {}, const Recording& recording = {});
/// Waits for something that the background thread does; false after a minute.
bool waitUntil(const std::function<bool()>& condition);

std::unique_ptr<dump::RunReader> openRun(const std::filesystem::path& run);  // throws the error's message
/// Whether value and statistics of every tensor of the iteration are those that were fed.
std::string firstDifference(dump::RunReader& reader, std::int64_t rank, std::int64_t iteration);

std::string readText(const std::filesystem::path& file);
void writeText(const std::filesystem::path& file, const std::string& text);

}  // namespace msdbg::test
