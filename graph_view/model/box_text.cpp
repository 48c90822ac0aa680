#include "graph_view/model/box_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core_engine/graph/graph_text.h"

namespace msdbg::graphview {

using core::NodeId;
using core::TensorId;

namespace {

constexpr std::size_t kMostLines = 6, kMostTypes = 4, kMostNames = 12;

std::string counted(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// A tensor as it is called: its alias when it has one, without ":0".
std::string nameOf(const core::TensorInfo& tensor) {
  if (!tensor.alias.empty()) return tensor.alias;
  return tensor.slot == 0 ? tensor.name : tensor.fullName();
}

// Inputs that no edge inside the node's part of the flow shows.
bool isFolded(const FoldedGraph& folded, const core::Node& node, const core::TensorInfo& tensor) {
  const Flow flow = flowOf(node.phase);
  if (!tensor.isSource()) return flowOf(folded.graph().node(tensor.producer).phase) != flow;
  return !folded.isDrawnInput(tensor.id) || flow != Flow::kForward;
}

bool leavesByEdge(const FoldedGraph& folded, const core::Node& node, TensorId output) {
  return std::ranges::any_of(folded.graph().consumers(output), [&](NodeId reader) {
    return flowOf(folded.graph().node(reader).phase) == flowOf(node.phase);
  });
}

// Names without their scopes; where these would be equal, with the scopes in which they differ.
std::vector<std::string> lineNames(const std::vector<std::string>& names) {
  std::map<std::string, std::vector<std::string>> alike;
  for (const std::string& name : names) alike[shortName(name)].push_back(name);
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    const std::vector<std::string>& group = alike.at(shortName(name));
    const std::size_t shared = sharedScope(group), open = name.find('(');
    const bool inside = open != std::string::npos && open < shared;
    shown.push_back(group.size() < 2 ? shortName(name)
                    : inside         ? name.substr(0, open + 1) + name.substr(shared)
                                     : name.substr(shared));
  }
  return shown;
}

BoxText nodeText(const FoldedGraph& folded, const core::Node& node) {
  BoxText text;
  text.title = core::qualifiedType(node);
  text.subtitle = shortName(node.name);
  std::vector<std::string> names;
  for (const TensorId input : node.inputs) {
    const core::TensorInfo& tensor = folded.graph().tensor(input);
    if (!isFolded(folded, node, tensor)) continue;
    names.push_back(nameOf(tensor));
    text.lines.emplace_back("", shapeText(tensor.shape));
  }
  const std::vector<std::string> shown = lineNames(names);
  for (std::size_t i = 0; i < shown.size(); ++i) text.lines[i].first = shown[i];
  for (const TensorId output : node.outputs)
    if (!leavesByEdge(folded, node, output))
      text.lines.emplace_back("\u2192", shapeText(folded.graph().tensor(output).shape));
  if (text.lines.size() > kMostLines) {
    const auto over = text.lines.size() - kMostLines + 1;
    text.lines.resize(kMostLines - 1);
    text.lines.emplace_back(fmt::format("{} more", over), "");
  }
  return text;
}

// "Conv, Relu, MaxPool": in order, each once.
std::string typesText(const FoldedGraph& folded, ScopeId scope) {
  std::vector<std::string> types;
  for (const NodeId node : folded.nodesBelow(scope)) {
    const std::string& type = folded.graph().node(node).opType;
    if (std::ranges::find(types, type) != types.end()) continue;
    if (types.size() == kMostTypes) {
      types.push_back("\u2026");
      break;
    }
    types.push_back(type);
  }
  return fmt::format("{}", fmt::join(types, ", "));
}

BoxText scopeText(const FoldedGraph& folded, ScopeId scope) {
  const ScopeInfo& info = folded.scope(scope);
  return {info.label, counted(info.nodeCount, "node"), {}, typesText(folded, scope)};
}

std::string typeText(const core::TensorInfo& tensor) {
  return fmt::format("{} {}", core::dtypeName(tensor.dtype), tensor.shape.text());
}

std::string nodeTooltip(const core::Graph& graph, const core::Node& node) {
  std::string text = fmt::format("{}\n{}, order {}", node.name, core::phaseName(node.phase), node.id.value);
  if (const core::Frame* frame = graph.userFrame(node.frames))
    text += fmt::format("\n{}:{}  {}", frame->file, frame->line, frame->code);
  for (const TensorId input : node.inputs)
    text += fmt::format("\nreads {}: {}", nameOf(graph.tensor(input)), typeText(graph.tensor(input)));
  for (const TensorId output : node.outputs)
    text += fmt::format("\ngives {}: {}", nameOf(graph.tensor(output)), typeText(graph.tensor(output)));
  for (const core::KernelId kernel : graph.kernelsOf(node.id)) {
    const core::Kernel& ran = graph.kernels()[kernel.index()];
    text += fmt::format("\nkernel {}: {} covers {}", kernel.value, ran.name,
                        counted(static_cast<std::int64_t>(ran.nodes.size()), "node"));
  }
  return text;
}

std::string scopeTooltip(const ScopeInfo& info) {
  std::string text = fmt::format("{}\n{}", info.path, counted(info.nodeCount, "node"));
  for (std::size_t phase = 1; phase < info.phases.size(); ++phase)
    if (info.phases[phase] > 0)
      text += fmt::format("\n{} {}", info.phases[phase], core::phaseName(static_cast<core::Phase>(phase)));
  return text;
}

}  // namespace

std::string shapeText(const core::Shape& shape) {
  if (shape.rank() == 0) return "scalar";
  std::string text;
  for (const std::int64_t dim : shape.dims()) {
    if (!text.empty()) text += "\u00d7";
    text += dim < 0 ? "?" : std::to_string(dim);
  }
  return text;
}

std::string shortName(const std::string& name) {
  const auto open = name.find('(');
  const auto slash = name.rfind('/');
  if (slash == std::string::npos) return name;
  if (open == std::string::npos || open > slash) return name.substr(slash + 1);
  return name.substr(0, open + 1) + name.substr(slash + 1);
}

std::size_t sharedScope(const std::vector<std::string>& names) {
  if (names.size() < 2) return 0;
  std::size_t shared = names.front().size();
  for (const std::string& name : names) {
    const auto differs = std::ranges::mismatch(names.front().substr(0, shared), name);
    shared = static_cast<std::size_t>(differs.in2 - name.begin());
  }
  const auto slash = shared == 0 ? std::string::npos : names.front().rfind('/', shared - 1);
  return slash == std::string::npos ? 0 : slash + 1;
}

std::string edgeText(const core::Graph& graph, const Edge& edge) {
  if (edge.tensors.size() != 1) return counted(static_cast<std::int64_t>(edge.tensors.size()), "tensor");
  return shapeText(graph.tensor(edge.tensors.front()).shape);
}

BoxText boxText(const FoldedGraph& folded, Item item) {
  if (item.isCopy() && item.isNode()) return {shortName(folded.graph().node(item.node()).name), {}, {}, {}};
  if (item.isNode()) return nodeText(folded, folded.graph().node(item.node()));
  if (item.isScope()) return scopeText(folded, item.scope());
  if (!item.isInput()) return {};
  const core::TensorInfo& tensor = folded.graph().tensor(item.input());
  return {shortName(tensor.name), std::string(core::roleName(tensor.role)), {}, {}};
}

std::string tooltip(const FoldedGraph& folded, Item item) {
  if (item.isNode()) return nodeTooltip(folded.graph(), folded.graph().node(item.node()));
  if (item.isScope()) return scopeTooltip(folded.scope(item.scope()));
  if (!item.isInput()) return {};
  const core::TensorInfo& tensor = folded.graph().tensor(item.input());
  return fmt::format("{}\n{}, {}", nameOf(tensor), core::roleName(tensor.role), typeText(tensor));
}

std::string tooltip(const FoldedGraph& folded, const Edge& edge) {
  std::string text;
  for (std::size_t i = 0; i < std::min(edge.tensors.size(), kMostNames); ++i) {
    const core::TensorInfo& tensor = folded.graph().tensor(edge.tensors[i]);
    text += fmt::format("{}{}: {}", i == 0 ? "" : "\n", nameOf(tensor), typeText(tensor));
  }
  if (edge.tensors.size() > kMostNames)
    text += fmt::format("\nand {} more", edge.tensors.size() - kMostNames);
  return text;
}

}  // namespace msdbg::graphview
