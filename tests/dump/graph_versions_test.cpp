// A training whose inputs change their shape, recorded: every version of the graph is in the run, and values
// of the iterations before and after the change are read with the shape that they had.
#include <catch2/catch.hpp>

#include "core_engine/train/layers.h"
#include "core_engine/train/mutable_input.h"
#include "core_engine/train/trainer.h"
#include "tests/dump/recorded_run.h"
#include "tests/train/plain_run.h"

using namespace msdbg;
using namespace msdbg::dump;

namespace {

core::Batch batchOf(std::int64_t rows) {
  core::Tensor x = core::Tensor::zeros(core::DType::Float32, {rows, 3});
  for (std::int64_t i = 0; i < rows; ++i) x.data<float>()[static_cast<std::size_t>(3 * i)] = 1.0f;
  return {core::Iteration(0), {{"x", x}, {"label", core::Tensor::zeros(core::DType::Int64, {rows})}}};
}

}  // namespace

TEST_CASE("A changed input shape starts a graph version, and both are read back") {
  const test::TempDir folder;
  const auto run = folder / "run";
  test::writeInfo(run);
  RecordOptions options;
  options.checkpointEvery = 1;
  options.batches = true;
  auto recorder = Recorder::create({run}, options).orThrow();
  test::PlainRun context;
  context.watching = recorder.get();
  core::Graph graph("network");
  const core::Value x = core::mutableInput(graph, "x", {4, 3});
  const core::Value label = core::mutableInput(graph, "label", {4}, core::DType::Int64);
  core::Trainer trainer(context, graph, softmaxCrossEntropy(linear(x, {.out = 2}), label), {});
  for (const std::int64_t rows : {4, 4, 2, 2, 4}) trainer.step(batchOf(rows));
  REQUIRE(recorder->finish({.state = "finished"}).ok());

  const auto reader = test::openRun(run);
  const dump::Journal journal = dump::parseJournal(test::readText(run / "rank_0" / "journal"));
  REQUIRE(journal.graphs.size() == 2);  // the third is the first again
  CHECK(journal.anew.empty());          // and training goes on through all of them
  for (const dump::GraphLine& line : journal.graphs) CHECK(std::filesystem::exists(run / line.file));
  CHECK(reader->graph().nodes().size() == graph.nodes().size());  // shapes alone make nothing new
  const core::TensorId input = test::tensorNamed(reader->graph(), "network/x:0");
  const core::TensorId gradient = *reader->graph().findTensor("grad(network/x)");
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::int64_t rows = i == 2 || i == 3 ? 2 : 4;
    CAPTURE(i);
    const core::Rank rank(0);
    const core::Iteration iteration(i);
    CHECK(reader->tensor(rank, iteration, input).orThrow().shape() == core::Shape{rows, 3});
    CHECK(reader->tensor(rank, iteration, gradient).orThrow().shape() == core::Shape{rows, 3});
    CHECK(reader->batch(rank, iteration).orThrow().find("network/x")->shape() == core::Shape{rows, 3});
    const core::GraphPart* part = reader->part(rank, iteration);
    REQUIRE(part);
    CHECK(part->shape(reader->graph(), input) == core::Shape{rows, 3});
    CHECK(reader->checkpoint(rank, iteration).orThrow().iteration == iteration);
  }
  CHECK(reader->verify({}, {}).empty());
}
