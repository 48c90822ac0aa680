// A program of another framework that is recorded: what tests define, see and iterate. One thread.
#pragma once

#include <catch2/catch.hpp>

#include "dump/python/record/foreign_recording.h"
#include "tests/dump/recorded_run.h"

namespace msdbg::test::foreign {

using core::Iteration;
using core::NodeId;
using core::Rank;
using core::TensorId;
using core::TensorRole;

inline core::TensorInfo info(std::string name, core::Shape shape, TensorRole role, TensorId updateOf = {}) {
  core::TensorInfo made;
  made.name = std::move(name);
  made.shape = std::move(shape);
  made.role = role;
  made.updateOf = updateOf;
  return made;
}

inline core::Tensor filled(core::Shape shape, float value) {
  core::Tensor tensor(core::DType::Float32, std::move(shape));
  std::ranges::fill(tensor.data<float>(), value);
  return tensor;
}

inline dump::SeenValue seen(const core::Tensor& tensor) {
  return {tensor.raw(), tensor.dtype(), tensor.shape().dims()};
}

/// relu(x), dropped(relu) and an update of w; which of them an iteration does is its own affair.
struct Program {
  test::TempDir folder;
  std::filesystem::path run = folder / "run";
  std::unique_ptr<dump::ForeignRecording> recording;
  TensorId x, w, y, z, next;
  NodeId relu, drop, update;
  core::FrameId line;

  Program() {
    dump::ForeignSettings settings;
    settings.run = run;
    settings.create = true;
    settings.command = {"train.py"};
    settings.backend = "pytorch cpu";
    recording = dump::ForeignRecording::open(settings).orThrow();
    dump::Definitions& all = recording->definitions();
    line = all.frame({"train.py", 3, "forward", "y = torch.relu(x)", false});
    x = all.source(info("input/x", {2, 3}, TensorRole::kInput)).orThrow();
    w = all.source(info("Net/w", {2}, TensorRole::kParameter)).orThrow();
    relu = node("Net/relu-op1", "relu", {x}, {info("", {2, 3}, TensorRole::kActivation)}, {line});
    y = all.node(relu).outputs[0];
    drop = node("Net/mul-op1", "mul", {y}, {info("", {2, 3}, TensorRole::kActivation)}, {line});
    z = all.node(drop).outputs[0];
    update = node("update/Net/SGD-op1", "SGD", {w}, {info("", {2}, TensorRole::kUpdated, w)}, {});
    next = all.node(update).outputs[0];
  }

  NodeId node(const std::string& name, const std::string& type, std::vector<TensorId> inputs,
              std::vector<core::TensorInfo> outputs, std::vector<core::FrameId> frames) {
    core::Node made;
    made.name = name;
    made.opType = type;
    made.domain = "aten";
    made.inputs = std::move(inputs);
    made.frames = std::move(frames);
    return recording->definitions().node(std::move(made), std::move(outputs)).orThrow();
  }

  void saw(TensorId tensor, const core::Tensor& value) { REQUIRE(recording->saw(tensor, seen(value)).ok()); }

  void iterate(std::int64_t iteration, bool dropped, std::int64_t rows = 2) {
    const auto value = static_cast<float>(iteration) - 1;
    REQUIRE(recording->begin(Iteration(iteration)).ok());
    saw(x, filled({rows, 3}, value));
    REQUIRE(recording->ran(relu).ok());
    saw(y, filled({rows, 3}, std::max(value, 0.0F)));
    if (dropped) {
      REQUIRE(recording->ran(drop).ok());
      saw(z, filled({rows, 3}, 2));
    }
    REQUIRE(recording->keep(w, seen(filled({2}, value))).ok());
    REQUIRE(recording->ran(update).ok());
    saw(next, filled({2}, value + 0.5F));
    const core::Status ended = recording->end({{"loss", 1.0}});
    REQUIRE((ended.ok() ? "" : ended.error().message()) == "");
  }

  std::size_t graphs() const {
    return dump::parseJournal(test::readText(run / "rank_0" / "journal")).graphs.size();
  }
};

}  // namespace msdbg::test::foreign
