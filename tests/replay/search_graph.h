// A graph made by hand, with frames in files that share a name: what search and name resolution are tested
// on.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::test {

inline core::Graph searchGraph() {
  using namespace core;
  Graph g("network");
  const auto frame = [&](const char* file, std::int32_t line) {
    return g.addFrame({file, line, "f", "code", false});
  };
  const auto source = [&](const char* name, TensorRole role, FrameId at) {
    TensorInfo t;
    t.name = name;
    t.shape = {2, 2};
    t.role = role;
    t.frames = {at};
    return g.addSource(t);
  };
  const auto node = [&](const char* type, const char* scope, Phase phase, std::vector<TensorId> in,
                        std::vector<FrameId> frames, NodeId from = {}, const char* alias = "",
                        int outputs = 1) {
    std::vector<TensorInfo> out(static_cast<std::size_t>(outputs));
    for (TensorInfo& t : out) t.shape = {2, 2};
    out.front().alias = alias;
    return g.addNode(type, scope, phase, std::move(in), {}, std::move(out), std::move(frames), from);
  };
  const auto out = [&](NodeId id) { return g.node(id).outputs.front(); };
  const FrameId model52 = frame("core_engine/models/alexnet.cpp", 52),
                model520 = frame("core_engine/models/alexnet.cpp", 520),
                model60 = frame("core_engine/models/alexnet.cpp", 60),
                scope50 = frame("core_engine/models/alexnet.cpp", 50), other = frame("user/net.cpp", 52),
                twin = frame("old/net.cpp", 52);
  const TensorId x = source("network/x", TensorRole::kInput, scope50),
                 w = source("network/conv1/weight", TensorRole::kParameter, model52);
  const NodeId conv = node("Conv", "network/conv1", Phase::kForward, {x, w}, {model52, scope50});
  const NodeId relu = node("Relu", "network/conv1", Phase::kForward, {out(conv)}, {model60, scope50});
  const NodeId pool = node("MaxPool", "network/pool", Phase::kForward, {out(relu)}, {model520}, {}, "", 2);
  const NodeId add = node("Add", "network/tail", Phase::kForward, {out(pool), x}, {other});
  const NodeId add2 = node("Add", "network/tail", Phase::kForward, {out(add), x}, {twin});
  const NodeId grad = node("ConvGradWeight", "grad/network/conv1", Phase::kBackward, {out(add2), x},
                           {model52, scope50}, conv, "local_grad(network/conv1/weight)");
  const NodeId reduced = node("Allreduce", "grad/network/conv1", Phase::kCollective, {out(grad)},
                              {model52, scope50}, conv, "grad(network/conv1/weight)");
  node("SgdUpdate", "update/network/conv1", Phase::kUpdate, {w, out(reduced)}, {model52, scope50}, conv,
       "next(network/conv1/weight)");
  return g;
}

}  // namespace msdbg::test
