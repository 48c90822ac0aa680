// A network of modules as the PyTorch recorder leaves it: classes, a list, a module that is called twice,
// frozen and buffered numbers, two devices, a backward and an update node.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::test {

class ModuleGraph {
 public:
  core::Graph graph{"network"};

  ModuleGraph() {
    const core::TensorId x = source("input/x", core::TensorRole::kInput, {4, 8}, "cpu", false);
    m_weight = source("Net/layers/0/weight", core::TensorRole::kParameter, {8, 8}, "cuda:0", true);
    source("Net/layers/0/bias", core::TensorRole::kParameter, {8}, "cuda:0", true);
    source("Net/layers/2/weight", core::TensorRole::kParameter, {3, 8}, "cuda:1", true);
    source("Net/layers/2/running_mean", core::TensorRole::kParameter, {3}, "cuda:1", false);
    const core::TensorId first = node("Net/layers/0", "aten.addmm", {x, m_weight});
    const core::TensorId again =
        node("Net/layers/1#2", "aten.relu", {node("Net/layers/1", "aten.relu", {first})});
    const core::TensorId out = node("Net/layers/2", "aten.addmm", {again});
    node("main", "aten.nll_loss", {node("Net/augment", "aten.mul", {out})});
    const core::TensorId gradient = node("grad/Net/layers/0", "aten.mm", {out}, core::Phase::kBackward);
    node("update/Net/layers/0", "AdamW", {m_weight, gradient}, core::Phase::kUpdate);
    graph.addModule("Net", "Net");
    graph.addModule("Net/layers", "Sequential");
    graph.addModule("Net/layers/0", "Linear");
    graph.addModule("Net/layers/1", "ReLU");
    graph.addModule("Net/layers/2", "Head");
    graph.addModule("Net/layers/10", "Dropout");
  }

  core::NodeId named(const std::string& name) const { return graph.findNode(name).value(); }
  core::TensorId weight() const { return m_weight; }

 private:
  core::TensorId source(const std::string& name, core::TensorRole role, core::Shape shape,
                        const std::string& device, bool trainable) {
    core::TensorInfo info;
    info.name = name;
    info.role = role;
    info.shape = std::move(shape);
    info.device = device;
    info.trainable = trainable;
    return graph.addSource(std::move(info));
  }
  core::TensorId node(const std::string& scope, const std::string& type, std::vector<core::TensorId> inputs,
                      core::Phase phase = core::Phase::kForward) {
    core::TensorInfo out;
    out.shape = core::Shape{4, 8};
    out.role = phase == core::Phase::kForward    ? core::TensorRole::kActivation
               : phase == core::Phase::kBackward ? core::TensorRole::kGradient
                                                 : core::TensorRole::kUpdated;
    if (phase == core::Phase::kUpdate) {
      out.updateOf = m_weight;
      out.shape = core::Shape{8, 8};
    }
    const core::NodeId id =
        graph.addNode(type, scope, phase, std::move(inputs), {}, {std::move(out)}, {}, {}, "aten");
    return graph.node(id).outputs.front();
  }
  core::TensorId m_weight;
};

}  // namespace msdbg::test
