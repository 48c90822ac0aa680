#include "tests/replay/recorded_stages.h"

#include "dump/run_info.h"
#include "dump/writer/recorder.h"

namespace msdbg::test {

namespace {

void recordRank(const Stages& stages, const std::filesystem::path& run, core::Rank rank, int ranks,
                std::optional<int> firstStep) {
  dump::RecordOptions options;
  options.policy = dump::Policy::kFull;
  auto recorder = dump::Recorder::create({.run = run, .rank = rank, .ranks = ranks}, options).orThrow();
  FakeSource& source = const_cast<FakeSource&>(stages.source);  // reading fills no cache there
  for (const core::Iteration iteration : source.iterations(rank)) {
    const core::GraphPart* part = source.part(rank, iteration);
    const int at = static_cast<int>(iteration.value);
    const core::Graph graph =
        stageGraph(static_cast<int>(rank.value), stages.log(static_cast<int>(rank.value), at));
    recorder->graphReady(graph);
    recorder->iterationStarted(iteration);
    for (const core::TensorInfo& tensor : graph.tensors())
      if (const auto value = source.value(rank, iteration, part->tensorAt(tensor.id.value)); value.ok())
        recorder->tensorReady({iteration, tensor.id, *value});
    core::Scalars scalars = {{"loss", 1.0 / static_cast<double>(at + 2)}};
    if (firstStep) scalars.emplace_back("step", *firstStep + at);
    recorder->iterationFinished(iteration, scalars);
  }
  if (const core::Status status = recorder->finish({.state = "finished"}); !status.ok())
    throw std::runtime_error(status.error().message());
}

}  // namespace

void recordStages(const Stages& stages, const std::filesystem::path& run, std::optional<int> firstStep) {
  const int ranks = static_cast<int>(stages.source.ranks().size());
  dump::RunInfo info;
  info.version = "0.1.0";
  info.command = {"python3", "train.py"};
  info.ranks = ranks;
  std::filesystem::create_directories(run);
  const auto write = [&] {
    if (const core::Status status = dump::writeRunInfo(run, info); !status.ok())
      throw std::runtime_error(status.error().message());
  };
  write();
  for (const core::Rank rank : stages.source.ranks()) recordRank(stages, run, rank, ranks, firstStep);
  info.end.state = "finished";
  write();
}

}  // namespace msdbg::test
