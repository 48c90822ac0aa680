// A small graph with every phase, several outputs, aliases, frames, attributes of every type and kernels, for
// the tests of the IR. Its operators of unknown type ("Fork", "Mystery") have no OpDef, as in a foreign
// dump.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::test {

struct Tables {
  std::vector<core::Node> nodes;
  std::vector<core::TensorInfo> tensors;
  std::vector<core::Frame> frames;
  std::vector<core::Kernel> kernels;

  explicit Tables(const core::Graph& g)
      : nodes(g.nodes().begin(), g.nodes().end()),
        tensors(g.tensors().begin(), g.tensors().end()),
        frames(g.frames().begin(), g.frames().end()),
        kernels(g.kernels().begin(), g.kernels().end()) {}
  core::Graph graph() const {
    return core::Graph::fromTables("network", core::DType::Float32, 3, nodes, tensors, frames, kernels);
  }
};

inline core::TensorInfo tensorInfo(core::Shape shape, core::TensorRole role = core::TensorRole::kActivation,
                                   std::string name = "") {
  core::TensorInfo info;
  info.name = std::move(name);
  info.shape = std::move(shape);
  info.role = role;
  return info;
}

/// Tensors: 0 x, 1 weight, 2 Relu, 3 and 4 Fork, 5 Mystery, 6 ReluGrad-like, 7 update.
inline core::Graph sampleGraph() {
  using namespace core;
  Graph g;
  g.setVersion(3);
  const FrameId user = g.addFrame({"app/net.cpp", 12, "build", "x = relu(x);", false});
  const FrameId layer = g.addFrame({"core_engine/train/layers.cpp", 5, "linear", "", true});
  TensorInfo x = tensorInfo({4, 6}, TensorRole::kInput, "network/x");
  x.frames = {user};
  const TensorId input = g.addSource(x);
  TensorInfo w = tensorInfo({4, 6}, TensorRole::kParameter, "network/fc/weight");
  w.trainable = w.replicated = true;
  w.initializer = {Initializer::Kind::kKaimingNormal, 6};
  w.frames = {layer, user};
  const TensorId weight = g.addSource(w);
  const NodeId relu =
      g.addNode("Relu", "network/fc", Phase::kForward, {input}, {}, {tensorInfo({4, 6})}, {layer, user});
  const TensorId activation = g.node(relu).outputs[0];
  g.addNode("Fork", "network", Phase::kForward, {activation, weight},
            {{"axis", std::int64_t{1}},
             {"scale", 0.5},
             {"mode", "a \"b\""},
             {"split", std::vector<std::int64_t>{2, 4}}},
            {tensorInfo({4, 2}), tensorInfo({4, -1})}, {user});
  g.addNode("Mystery", "network", Phase::kForward, {TensorId(3)}, {}, {tensorInfo({}, TensorRole::kLoss)},
            {});
  TensorInfo gradient = tensorInfo({4, 6}, TensorRole::kGradient);
  gradient.alias = "grad(network/fc/weight)";
  gradient.gradientOf = weight;
  g.addNode("MysteryGrad", "grad/network", Phase::kBackward, {TensorId(5)}, {}, {gradient}, {}, NodeId(2));
  TensorInfo updated = tensorInfo({4, 6}, TensorRole::kUpdated);
  updated.updateOf = weight;
  g.addNode("MysteryUpdate", "update/network/fc", Phase::kUpdate, {weight, TensorId(6)}, {}, {updated},
            {layer, user}, relu);
  g.setKernels({{KernelId(0), "cpu:Relu", {NodeId(0)}},
                {KernelId(1), "opaque", {NodeId(1), NodeId(2)}},
                {KernelId(2), "opaque", {NodeId(3), NodeId(4)}}});
  return g;
}

}  // namespace msdbg::test
