// What replay answers of a run that no file holds.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "replay/history.h"
#include "replay/loss_course.h"
#include "replay/recorded_from.h"
#include "replay/run_state.h"
#include "tests/replay/fake_run.h"
#include "tests/watchpoints/small_graph.h"

namespace msdbg::test {

using core::Iteration;
using core::Rank;

TEST_CASE("The nearest value of a run without files is found") {
  FakeRun run(modelGraph(), 1, 0);
  const core::TensorId weight = run.rows.id("network/fc/weight");
  for (const std::int64_t iteration : {2, 6, 7})
    run.rows.record(Rank(0), Iteration(iteration), weight, core::Tensor::zeros(core::DType::Float32, {2, 3}));
  CHECK(replay::nearestValue(run, Rank(0), Iteration(4), weight) == Iteration(2));  // the earlier of two
  CHECK(replay::nearestValue(run, Rank(0), Iteration(5), weight) == Iteration(6));
  CHECK_FALSE(replay::nearestValue(run, Rank(0), Iteration(5), run.rows.id("network/fc/bias")));
  CHECK(run.storedCount(Rank(0), weight) == 3);
}

TEST_CASE("State and loss of a run without files are told as those of any other") {
  FakeRun run(modelGraph(), 2, 0);
  const core::TensorId loss = run.rows.id("network/ReduceMean-op1");
  for (const std::int64_t rank : {0, 1})
    for (const std::int64_t iteration : {0, 1, 2}) {
      const float value = 3 - static_cast<float>(iteration);
      run.rows.record(Rank(rank), Iteration(iteration), loss, core::Tensor::scalar(value));
      run.scalars["loss"][{Rank(rank), Iteration(iteration)}] = value;
    }
  run.ended = {.state = "killed", .signal = 9, .iteration = 2};
  run.notRecorded.push_back({Rank(1), {5, 6, 7}, "cannot write x", 0, 0});
  const replay::RunState state = replay::stateOf(run);
  CHECK(replay::endSentence(state) == "the run was killed at iteration 2");
  CHECK(replay::gapSentence(state) == "iterations 5-7 of rank 1 were not recorded");
  CHECK(replay::damageSentence(state).empty());
  const auto course = replay::lossCourseOf(run);
  REQUIRE(course);
  CHECK(course->first == 3);
  CHECK(course->last == 1);
  CHECK(run.recomputable() == nullptr);
  CHECK(run.verifiable() == nullptr);
}

TEST_CASE("The course of a loss is told by means over a twentieth of it at each end") {
  FakeRun run(modelGraph(), 1, 0);
  const core::TensorId loss = run.rows.id("network/ReduceMean-op1");
  for (std::int64_t iteration = 0; iteration < 60; ++iteration) {
    run.rows.record(Rank(0), Iteration(iteration), loss, core::Tensor::scalar(1.0F));
    run.scalars["loss"][{Rank(0), Iteration(iteration)}] = static_cast<double>(100 - iteration);
  }
  const auto course = replay::lossCourseOf(run);
  REQUIRE(course);
  CHECK(course->window == 3);
  CHECK(course->first == 100);
  CHECK(course->last == 41);
  CHECK(course->firstMean == 99);
  CHECK(course->lastMean == 42);
  CHECK_THAT(course->text(), Catch::StartsWith("loss 99 -> 42 in 60 iterations (means of 3 at each end)"));
}

TEST_CASE("A recording without operators has a command that records them; one with operators has none") {
  replay::RunDescription description;
  description.libraries = {{"torch", "2.15"}, {"level", "train"}};
  description.command = {"msdbg", "dump", "--", "python", "a b.py"};
  CHECK(replay::deeperLook(description) == "msdbg dump --level ops --iterations 0-49 -- python 'a b.py'");
  core::Graph graph = modelGraph();
  watch::Hit hit;
  hit.iteration = Iteration(7);
  CHECK_THAT(replay::deeperCommand(description, graph, hit), Catch::Contains("--iterations 6-8 -- python"));
  hit.writtenAt = graph.nodes().front().outputs.front();
  CHECK(replay::deeperCommand(description, graph, hit).empty());  // it names the operator
  description.libraries[1].second = "ops";
  hit.writtenAt = {};
  CHECK(replay::deeperCommand(description, graph, hit).empty());
  CHECK(replay::deeperLook(description).empty());
  description.libraries.clear();
  CHECK(replay::deeperLook(description).empty());  // of our own engine
}

TEST_CASE("A recording of which nothing comes any more says where to look") {
  replay::RunState state;
  state.recording = true;
  state.lastIteration = 10;
  state.silentSeconds = 3;
  CHECK(replay::endSentence(state) == "the run is being recorded and is past iteration 10");
  state.silentSeconds = 49;
  CHECK_THAT(replay::endSentence(state), Catch::Contains("but nothing has come for 49 s (msdbg stacks"));
}

TEST_CASE("The history of one element is in its statistics where no value is stored") {
  FakeRun run(modelGraph(), 1, 0);
  const core::TensorId loss = run.rows.id("network/ReduceMean-op1"),
                       weight = run.rows.id("network/fc/weight");
  const float infinite = std::numeric_limits<float>::infinity();
  Iteration iteration(0);
  for (const float value : {2.5f, -infinite, std::nanf("")}) {
    run.rows.record(Rank(0), iteration, loss, core::Tensor::scalar(value));
    run.rows.record(Rank(0), iteration, weight, core::Tensor::zeros(core::DType::Float32, {2, 3}));
    ++iteration.value;
  }
  run.rows.loseValues();
  const core::IterationSet all = run.iterationSet(Rank(0));
  const auto of = [&](core::TensorId tensor) {
    return replay::historyOf(run, tensor, 0, {Rank(0)}, all, {}).value().rows;
  };
  REQUIRE(of(loss).size() == 3);
  CHECK(of(loss)[0].values[0] == 2.5);
  CHECK(of(loss)[1].values[0] == -infinite);
  CHECK(std::isnan(of(loss)[2].values[0].value()));
  CHECK_FALSE(of(weight)[0].values[0].has_value());
}

}  // namespace msdbg::test
