// Small programs as a user writes them, run by the engine's reference kernels; all values and statistics go
// into a FakeSource. Throws std::runtime_error where a program cannot run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/ops/functions.h"
#include "core_engine/passes/optimizer.h"
#include "tests/support/tensors.h"
#include "tests/watchpoints/fake_source.h"

namespace msdbg::test {

using Named = std::vector<std::pair<std::string, core::Tensor>>;  // tensors by full name

/// What the program computes is its loss where it trains.
using Program = std::function<core::Value(core::Graph&)>;

struct Trace {
  std::unique_ptr<FakeSource> source;
  core::TensorId result;  // of the program
};

/// One iteration of the forward pass. `inputs` may hold parameters, too.
Trace traceForward(const Program& program, const Named& inputs);
/// One iteration of training.
Trace traceTraining(const Program& program, const Named& inputs,
                    const core::Optimizer& optimizer = core::Sgd{.lr = 0.01});

}  // namespace msdbg::test
