// A training graph made by hand, for rows set by hand: no operator needs to exist.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::test {

/// weight (trainable, replicated), bias (zero-initialised), x -> Gemm -> ACTIVATION -> loss; local gradient
/// of the weight
/// -> Allreduce -> SgdUpdate with these attributes. Scope network/fc.
inline core::Graph modelGraph(const std::string& activation = "Relu", const core::Attributes& update = {}) {
  using namespace core;
  Graph g("network");
  const auto info = [](std::string name, Shape shape, TensorRole role) {
    TensorInfo t;
    t.name = std::move(name);
    t.shape = std::move(shape);
    t.role = role;
    return t;
  };
  const auto node = [&](const char* type, const char* scope, Phase phase, std::vector<TensorId> inputs,
                        TensorInfo output, const Attributes& attributes = {}) {
    return g.node(g.addNode(type, scope, phase, std::move(inputs), attributes, {std::move(output)}, {}))
        .outputs.front();
  };
  TensorInfo weight = info("network/fc/weight", {2, 3}, TensorRole::kParameter);
  weight.trainable = weight.replicated = true;
  weight.initializer = {Initializer::Kind::kKaimingNormal, 3};
  TensorInfo bias = info("network/fc/bias", {2}, TensorRole::kParameter);
  bias.trainable = bias.replicated = true;
  bias.initializer = {Initializer::Kind::kZeros, 0};
  const TensorId x = g.addSource(info("network/x", {4, 3}, TensorRole::kInput));
  const TensorId w = g.addSource(weight), b = g.addSource(bias);
  const TensorId y =
      node("Gemm", "network/fc", Phase::kForward, {x, w, b}, info("", {4, 2}, TensorRole::kActivation));
  const TensorId a =
      node(activation.c_str(), "network/fc", Phase::kForward, {y}, info("", {4, 2}, TensorRole::kActivation));
  node("ReduceMean", "network", Phase::kForward, {a}, info("", {}, TensorRole::kLoss));
  TensorInfo gradient = info("", {2, 3}, TensorRole::kGradient);
  gradient.gradientOf = w;
  gradient.alias = "local_grad(network/fc/weight)";
  const TensorId local = node("GemmGradWeight", "grad/network/fc", Phase::kBackward, {a, x}, gradient);
  gradient.alias = "grad(network/fc/weight)";
  gradient.replicated = true;
  const TensorId reduced = node("Allreduce", "grad/network/fc", Phase::kCollective, {local}, gradient);
  for (const auto& [parameter, name] :
       {std::pair(w, "next(network/fc/weight)"), std::pair(b, "next(network/fc/bias)")}) {
    TensorInfo next = info("", g.tensor(parameter).shape, TensorRole::kUpdated);
    next.updateOf = parameter;
    next.replicated = true;
    next.alias = name;
    node("SgdUpdate", "update/network/fc", Phase::kUpdate, {parameter, reduced}, next, update);
  }
  return g;
}

}  // namespace msdbg::test
