// A document on a run that no file holds. Header-only.
#pragma once

#include <catch2/catch.hpp>

#include "tests/gui/support/gui.h"
#include "tests/replay/fake_run.h"

namespace msdbg::test {

/// The run stays ours to look at while the replay thread reads it.
struct FakeDocument {
  explicit FakeDocument(std::unique_ptr<FakeRun> made) : run(made.get()) {
    gui();
    auto held = std::make_shared<std::unique_ptr<replay::Run>>(std::move(made));
    document = std::make_unique<app::Document>(
        [held] { return core::Result<std::unique_ptr<replay::Run>>(std::move(*held)); }, "fake.msdbg");
    REQUIRE(eventually([&] { return document->isOpen(); }));
  }
  FakeRun* run;
  std::unique_ptr<app::Document> document;
};

/// Every tensor in each iteration, healthy; `wrong` of rank 0 has a NaN in iteration 1. `firstStep`: the
/// program's own number of iteration 0.
inline std::unique_ptr<FakeRun> filledRun(core::Graph graph, int iterations,
                                          std::optional<std::int64_t> firstStep = {},
                                          const std::string& wrong = {}) {
  auto run = std::make_unique<FakeRun>(std::move(graph), 1, iterations);
  for (std::int64_t i = 0; i < iterations; ++i) {
    const core::Rank rank(0);
    const core::Iteration iteration(i);
    for (const core::TensorInfo& tensor : run->graph().tensors()) {
      core::Tensor value(tensor.dtype, tensor.shape), before(tensor.dtype, tensor.shape);
      for (float& each : value.data<float>()) each = 1 + 0.1F * static_cast<float>(i);
      for (float& each : before.data<float>()) each = 0.99F + 0.1F * static_cast<float>(i);
      if (i == 1 && tensor.fullName() == wrong) value.data<float>()[0] = NAN;
      run->rows.record(rank, iteration, tensor.id, value, tensor.updateOf.valid() ? &before : nullptr);
    }
    run->scalars["loss"][{rank, iteration}] = 1 / (1 + static_cast<double>(i));
    if (firstStep) run->scalars["step"][{rank, iteration}] = static_cast<double>(*firstStep + i);
  }
  return run;
}

}  // namespace msdbg::test
