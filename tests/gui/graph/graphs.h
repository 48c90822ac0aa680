// Graphs for the tests of the graph view: small ones that can be read, large ones to measure. Header-only.
#pragma once

#include <memory>
#include <random>

#include "core_engine/graph/graph.h"

namespace msdbg::test {

inline core::TensorInfo outputInfo(core::Shape shape = {8, 16}) {
  core::TensorInfo info;
  info.shape = std::move(shape);
  return info;
}

inline core::TensorId addSourceOf(core::Graph& graph, const std::string& name, core::TensorRole role) {
  core::TensorInfo info = outputInfo({4, 4});
  info.name = name;
  info.role = role;
  return graph.addSource(info);
}

inline core::TensorId addOp(core::Graph& graph, const std::string& type, const std::string& scope,
                            std::vector<core::TensorId> inputs, core::Phase phase = core::Phase::kForward,
                            core::NodeId derivedFrom = {}) {
  const core::NodeId node =
      graph.addNode(type, scope, phase, std::move(inputs), {}, {outputInfo()}, {}, derivedFrom);
  return graph.node(node).outputs.front();
}

/// x -> a (Conv, Relu) -> b (Gemm) -> loss, its gradient and the update of one weight. Two kernels: one
/// covers Conv and Relu, the other the Gemm.
inline std::shared_ptr<const core::Graph> foldableGraph() {
  using core::Phase;
  auto graph = std::make_shared<core::Graph>();
  const auto x = addSourceOf(*graph, "network/x", core::TensorRole::kInput);
  const auto weight = addSourceOf(*graph, "network/a/weight", core::TensorRole::kParameter);
  const auto rate = addSourceOf(*graph, "optimizer/learning_rate", core::TensorRole::kHyperparameter);
  const auto conv = addOp(*graph, "Conv", "network/a", {x, weight});
  const auto relu = addOp(*graph, "Relu", "network/a", {conv});
  const auto gemm = addOp(*graph, "Gemm", "network/b", {relu});
  const auto loss = addOp(*graph, "Loss", "network", {gemm});
  const auto lossGrad = addOp(*graph, "LossGrad", "grad/network", {loss}, Phase::kBackward);
  const auto reluGrad = addOp(*graph, "ReluGrad", "grad/network/a", {lossGrad, relu}, Phase::kBackward);
  const auto weightGrad = addOp(*graph, "ConvGradWeight", "grad/network/a", {reluGrad, x}, Phase::kBackward);
  const auto summed = addOp(*graph, "Allreduce", "grad/network/a", {weightGrad}, Phase::kCollective);
  addOp(*graph, "SgdUpdate", "update/network/a", {weight, summed, rate}, Phase::kUpdate);
  const auto nodeOf = [&](core::TensorId tensor) { return graph->tensor(tensor).producer; };
  graph->setKernels({{core::KernelId(0), "fused:ConvRelu", {nodeOf(conv), nodeOf(relu)}},
                     {core::KernelId(1), "dnnl:Gemm", {nodeOf(gemm)}}});
  return graph;
}

/// A chain of layers that all read one mask, "network/Trilu-op1"; in each layer is a scope "attention".
inline std::shared_ptr<const core::Graph> maskedGraph(int layers) {
  auto graph = std::make_shared<core::Graph>();
  auto x = addSourceOf(*graph, "network/x", core::TensorRole::kInput);
  const auto ones = addSourceOf(*graph, "network/ones", core::TensorRole::kConstant);
  const auto mask = addOp(*graph, "Trilu", "network", {ones});
  for (int i = 1; i <= layers; ++i) {
    const std::string scope = "network/block" + std::to_string(i);
    const auto scores = addOp(*graph, "MatMul", scope + "/attention", {x});
    x = addOp(*graph, "Gemm", scope, {addOp(*graph, "Add", scope + "/attention", {scores, mask})});
  }
  return graph;
}

/// `nodes` nodes in one scope, "network/block", that read one to three earlier ones, mostly near;
/// reproducible.
inline std::shared_ptr<const core::Graph> wideGraph(int nodes, unsigned seed = 7) {
  auto graph = std::make_shared<core::Graph>();
  std::mt19937 random(seed);
  std::vector<core::TensorId> made = {addSourceOf(*graph, "network/x", core::TensorRole::kInput)};
  for (int i = 0; i < nodes; ++i) {
    std::vector<core::TensorId> inputs;
    const int wanted = 1 + static_cast<int>(random() % 3);
    for (int k = 0; k < wanted; ++k) {
      const std::size_t reach = random() % 10 == 0 ? made.size() : std::min<std::size_t>(made.size(), 6);
      inputs.push_back(made[made.size() - 1 - random() % reach]);
    }
    made.push_back(addOp(*graph, i % 3 ? "Add" : "Mul", "network/block", inputs));
  }
  addOp(*graph, "Loss", "network", {made.back()});
  return graph;
}

}  // namespace msdbg::test
