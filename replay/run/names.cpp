// Names given on a command line -> tensors and nodes of a graph.
#include "core_engine/graph/names.h"

#include "core_engine/base/text.h"
#include "replay/run.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Graph;
using core::NodeId;
using core::Result;
using core::TensorId;
using core::TensorInfo;

namespace {

std::vector<std::string> namesOf(const Graph& graph, const std::vector<TensorId>& tensors) {
  std::vector<std::string> names;
  for (TensorId id : tensors) names.push_back(graph.tensor(id).fullName());
  return names;
}

// The nearest names; where none is near, how to get at them.
std::string notFound(const std::string& what, const std::string& name, const std::string& nearest,
                     const std::string& cure) {
  return "no " + what + (core::isGlob(name) ? " matches '" : " is named '") + name + "'" +
         (nearest.empty() ? "; " + cure : nearest);
}

}  // namespace

Result<std::vector<TensorId>> resolveTensors(const Graph& graph, const std::string& name) {
  if (const auto exact = graph.findTensor(name)) return std::vector{*exact};
  const bool glob = core::isGlob(name);
  const std::vector<TensorId> found = core::tensorsMeant(graph, name);
  if (found.empty())
    return Error(ErrorCode::kNotFound, notFound("tensor", name, core::nearestTensors(graph, name),
                                                "msdbg info --tensors '*' lists them"));
  if (!glob && found.size() > 1)
    return Error(ErrorCode::kUsage, core::ambiguousName(name, namesOf(graph, found)));
  return found;
}

Result<TensorId> resolveTensor(const Graph& graph, const std::string& name) {
  MSDBG_ASSIGN(const std::vector<TensorId> found, resolveTensors(graph, name));
  if (found.size() > 1) return Error(ErrorCode::kUsage, core::ambiguousName(name, namesOf(graph, found)));
  return found.front();
}

Result<std::vector<NodeId>> resolveNodes(const Graph& graph, const std::string& name) {
  if (const auto exact = graph.findNode(name)) return std::vector{*exact};
  const bool glob = core::isGlob(name);
  std::vector<NodeId> found;
  std::vector<std::string> all, names;
  for (const core::Node& node : graph.nodes()) {
    all.push_back(node.name);
    if (!(glob ? core::globMatch(name, node.name) : core::endsAtBorder(node.name, name))) continue;
    found.push_back(node.id);
    names.push_back(node.name);
  }
  if (found.empty())
    return Error(ErrorCode::kNotFound, notFound("node", name, core::nearestEnds(name, all),
                                                "msdbg search TEXT finds those with a part of a name"));
  if (glob || found.size() == 1) return found;
  // What the backward pass has of a node ends as its name does.
  std::vector<NodeId> forward = found;
  std::erase_if(forward, [&](NodeId id) { return graph.node(id).phase != core::Phase::kForward; });
  if (forward.size() != 1) return Error(ErrorCode::kUsage, core::ambiguousName(name, names));
  return forward;
}

}  // namespace msdbg::replay
