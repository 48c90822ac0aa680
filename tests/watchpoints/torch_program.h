// A program of PyTorch as its recorder shows it, built part by part.
#pragma once

#include <string>
#include <vector>

#include "tests/watchpoints/fake_source.h"
#include "watchpoints/check.h"

namespace msdbg::test::torch_program {

using namespace core;
using watch::CheckReport;
using watch::Hit;

inline TensorInfo floats(TensorRole role, std::string name, Shape shape) {
  TensorInfo info;
  info.name = std::move(name);
  info.shape = std::move(shape);
  info.role = role;
  return info;
}

// Two layers, "Net/a" and "Net/b", with the update of each by an optimizer of its own; built part by part.
struct Program {
  Graph graph{"net"};
  TensorId x = source(TensorRole::kInput, "x", {8, 16});

  TensorId source(TensorRole role, const std::string& name, Shape shape) {
    TensorInfo info = floats(role, name, std::move(shape));
    info.trainable = role == TensorRole::kParameter;
    if (role == TensorRole::kHyperparameter)
      info.frames = {graph.addFrame({"/train.py", 7, "main", "optimizer = SGD(…)", false})};
    return graph.addSource(info);
  }
  TensorId node(const std::string& type, const std::string& scope, Phase phase, std::vector<TensorId> inputs,
                TensorInfo output, NodeId derivedFrom = {}, const std::string& domain = "aten",
                Attributes attributes = {}) {
    const NodeId made = graph.addNode(type, scope, phase, std::move(inputs), std::move(attributes),
                                      {std::move(output)}, {}, derivedFrom, domain);
    return graph.node(made).outputs[0];
  }
  TensorId layer(const std::string& scope, TensorId in, TensorId weight) {
    return node("mm", scope, Phase::kForward, {in, weight}, floats(TensorRole::kActivation, "", {8, 16}));
  }
  TensorId gradient(const std::string& scope, TensorId of, TensorId weight, TensorId loss) {
    TensorInfo info = floats(TensorRole::kGradient, "", {16, 16});
    info.gradientOf = weight;
    return node("mm", "grad/" + scope, Phase::kBackward, {loss}, info, graph.tensor(of).producer);
  }
  TensorId update(const std::string& scope, TensorId weight, TensorId gradient, TensorId rate) {
    TensorInfo info = floats(TensorRole::kUpdated, "", {16, 16});
    info.updateOf = weight;
    return node("SGD", "update/" + scope, Phase::kUpdate, {weight, gradient, rate}, info, {}, "torch.optim");
  }
};

inline Tensor numbers(const Shape& shape, double size, double shift = 0) {
  Tensor tensor(DType::Float32, shape);
  std::uint32_t state = 12345;
  for (float& each : tensor.data<float>()) {
    state = state * 1664525U + 1013904223U;  // uniform, as nn.Linear draws its weights
    each = static_cast<float>(size * (2.0 * (state >> 8) / 16777216.0 - 1) + shift);
  }
  return tensor;
}

inline std::string said(FakeSource& source, const char* condition, watch::Severity severity) {
  const CheckReport report =
      check(source, {watch::parseWatchpoint(std::string(condition) + ":recommended").value()}, {});
  std::string all;
  for (const Hit& hit : severity == watch::Severity::kFault ? report.hits : report.hints)
    all += hit.detail + "\n";
  return all;
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace msdbg::test::torch_program
