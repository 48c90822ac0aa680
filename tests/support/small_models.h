// Small training graphs for tests of the compiler, the executor and the recorder. Header-only: needs
// msdbg_core.
#pragma once

#include "core_engine/graph/graph.h"
#include "core_engine/ops/functions.h"
#include "core_engine/passes/pipeline.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/layers.h"

namespace msdbg::test {

/// x [4, 3] -> Gemm 5 -> Relu -> Gemm 2 -> cross-entropy; scopes fc1, fc2.
inline core::Value smallClassifier(core::Graph& g) {
  auto x = g.input("x", {4, 3});
  auto label = g.input("label", {4}, core::DType::Int64);
  {
    auto s = g.scope("fc1");
    x = relu(linear(x, {.out = 5}));
  }
  {
    auto s = g.scope("fc2");
    x = linear(x, {.out = 2});
  }
  return softmaxCrossEntropy(x, label);
}

inline core::Feeds smallFeeds(const core::Graph& g) {
  const double values[12] = {0.5, -1, 2, 0.1, 0.9, -0.3, 1.5, 0.25, -2, 0.7, 0.4, 1.1};
  core::Tensor x(core::DType::Float64, {4, 3});
  std::copy(std::begin(values), std::end(values), x.data<double>().begin());
  const std::int64_t labels[4] = {0, 1, 1, 0};
  return {{*g.findTensor("network/x"), x.cast(g.floatingDType())},
          {*g.findTensor("network/label"), core::Tensor::of<std::int64_t>({4}, labels)}};
}

}  // namespace msdbg::test
