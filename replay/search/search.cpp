#include "replay/search.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core_engine/base/text.h"
#include "core_engine/graph/graph_text.h"
#include "core_engine/graph/names.h"
#include "replay/run.h"

namespace msdbg::replay {
namespace {

using core::Error;
using core::ErrorCode;
using core::Graph;
using core::Node;
using core::NodeId;
using core::Result;

struct Lines {
  std::int32_t first = 1, last = INT32_MAX;
  bool contains(std::int32_t line) const { return first <= line && line <= last; }
};

std::optional<std::int32_t> parseLine(std::string_view text) {
  std::int32_t line = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line);
  if (error != std::errc() || end != text.data() + text.size() || line < 1) return std::nullopt;
  return line;
}

/// `52` or `50-55`.
std::optional<Lines> parseLines(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parseLine(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parseLine(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return Lines{*first, *last};
}

std::vector<std::string> filesOf(const Graph& graph) {
  std::set<std::string> files;
  for (const core::Frame& frame : graph.frames()) files.insert(frame.file);
  return {files.begin(), files.end()};
}

std::vector<std::string> filesEndingWith(const std::vector<std::string>& files, std::string_view suffix) {
  if (std::ranges::find(files, suffix) != files.end()) return {std::string(suffix)};
  std::vector<std::string> found;
  std::ranges::copy_if(files, std::back_inserter(found),
                       [&](const std::string& f) { return core::endsAtBorder(f, suffix); });
  return found;
}

bool touches(const Graph& graph, const Node& node, const std::string& file, Lines lines) {
  return std::ranges::any_of(node.frames, [&](core::FrameId id) {
    const core::Frame& frame = graph.frame(id);
    return frame.file == file && lines.contains(frame.line);
  });
}

/// What a hook or a backward pass of the user's own computes has a line of its own.
bool isOn(const Graph& graph, const Node& node, const std::string& file, Lines lines) {
  const core::Frame* frame = graph.userFrame(node.frames);
  return frame && frame->file == file && lines.contains(frame->line);
}

/// Nodes written on these lines, then those that exist because of them.
std::vector<NodeId> nodesOf(const Graph& graph, const std::string& file, Lines lines) {
  std::vector<NodeId> nodes;
  for (const Node& node : graph.nodes())
    if (!node.derivedFrom.valid() && touches(graph, node, file, lines)) nodes.push_back(node.id);
  const std::set<NodeId> written(nodes.begin(), nodes.end());
  for (const Node& node : graph.nodes())
    if (written.contains(node.derivedFrom) || (node.derivedFrom.valid() && isOn(graph, node, file, lines)))
      nodes.push_back(node.id);
  return nodes;
}

/// Up to two lines with nodes before the lines asked for and two after.
std::vector<std::int32_t> nearestLines(const Graph& graph, const std::string& file, Lines lines) {
  std::set<std::int32_t> all;
  for (const Node& node : graph.nodes())
    for (core::FrameId id : node.frames)
      if (graph.frame(id).file == file) all.insert(graph.frame(id).line);
  auto begin = all.lower_bound(lines.first), end = begin;
  for (int i = 0; i < 2 && begin != all.begin(); ++i) --begin;
  for (int i = 0; i < 2 && end != all.end(); ++i) ++end;
  return {begin, end};
}

Result<SearchResult> searchLines(const Graph& graph, const std::string& file, Lines lines) {
  SearchResult result;
  result.file = file;
  result.nodes = nodesOf(graph, file, lines);
  if (result.nodes.empty()) result.nearestLines = nearestLines(graph, file, lines);
  return result;
}

/// A source (parameter, input) has no node of its own: those that read it stand for it.
void addNodesOf(const Graph& graph, core::TensorId tensor, std::set<NodeId>& nodes) {
  const core::TensorInfo& info = graph.tensor(tensor);
  if (!info.isSource())
    nodes.insert(info.producer);
  else
    for (NodeId id : graph.consumers(tensor)) nodes.insert(id);
}

template <typename Matches>
std::set<NodeId> nodesThat(const Graph& graph, Matches matches) {
  std::set<NodeId> nodes;
  for (const Node& node : graph.nodes())
    if (matches(node.name)) nodes.insert(node.id);
  for (const core::TensorInfo& info : graph.tensors())
    if ((info.isSource() && matches(info.name)) || (!info.alias.empty() && matches(info.alias)))
      addNodesOf(graph, info.id, nodes);
  return nodes;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return c < 128 ? std::tolower(c) : c; });
  return text;
}

// "div.Tensor", "div", "aten.div.Tensor" and "aten.div" all mean an aten.div.Tensor.
bool hasType(const Node& node, std::string_view wanted) {
  const std::string domain = lower(node.domain) + ".";
  if (wanted.starts_with(domain)) wanted.remove_prefix(domain.size());
  return wanted == lower(node.opType) || wanted == lower(std::string(core::plainType(node)));
}

/// Nodes of modules of this class ("Conv2d"), forward and backward; what a container's modules compute is its
/// own, too.
std::set<NodeId> nodesOfClass(const Graph& graph, std::string_view wanted) {
  std::set<NodeId> nodes;
  const auto within = [&](std::string_view scope, const std::string& path) {
    if (scope.starts_with("grad/")) scope.remove_prefix(5);
    return scope.starts_with(path) && (scope.size() == path.size() || scope[path.size()] == '/');
  };
  for (const auto& [path, name] : graph.modules()) {
    if (lower(name) != wanted) continue;
    for (const Node& node : graph.nodes())
      if (within(node.scope, path)) nodes.insert(node.id);
  }
  return nodes;
}

/// Nodes whose line says it: functions have other names than the operators that they are made of.
std::set<NodeId> nodesWrittenAs(const Graph& graph, std::string_view wanted) {
  std::set<NodeId> nodes;
  for (const Node& node : graph.nodes()) {
    const core::Frame* frame = graph.userFrame(node.frames);
    if (frame && lower(frame->code).find(wanted) != std::string::npos) nodes.insert(node.id);
  }
  return nodes;
}

std::set<NodeId> nodesByText(const Graph& graph, const std::string& text) {
  if (const auto node = graph.findNode(text)) return {*node};
  std::set<NodeId> nodes;
  if (const auto tensor = graph.findTensor(text)) {
    addNodesOf(graph, *tensor, nodes);
    return nodes;
  }
  if (core::isGlob(text))
    return nodesThat(graph, [&](const std::string& name) { return core::globMatch(text, name); });
  const std::string wanted = lower(text);
  for (const Node& node : graph.nodes())
    if (hasType(node, wanted)) nodes.insert(node.id);
  if (nodes.empty()) nodes = nodesOfClass(graph, wanted);
  if (!nodes.empty()) return nodes;
  if (const auto named = resolveNodes(graph, text); named && named->size() == 1) return {named->front()};
  if (const auto tensor = resolveTensor(graph, text)) {
    addNodesOf(graph, *tensor, nodes);
    return nodes;
  }
  nodes = nodesThat(graph,
                    [&](const std::string& name) { return lower(name).find(wanted) != std::string::npos; });
  return nodes.empty() ? nodesWrittenAs(graph, wanted) : nodes;
}

std::vector<std::string> searchableNames(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes()) names.insert({node.name, node.opType});
  for (const core::TensorInfo& info : graph.tensors())
    if (info.isSource()) names.insert(info.name);
  return {names.begin(), names.end()};
}

Result<SearchResult> searchText(const Graph& graph, const std::string& text) {
  const std::set<NodeId> nodes = text.empty() ? std::set<NodeId>() : nodesByText(graph, text);
  if (nodes.empty()) {
    if (const auto unread = resolveTensor(graph, text))
      return Error(ErrorCode::kNotFound, "no node reads " + graph.tensor(*unread).name +
                                             ": it is a source that the program declares and does not use");
    return Error(ErrorCode::kNotFound, "nothing in the graph is named '" + text + "'" +
                                           core::nearestEnds(text, searchableNames(graph)));
  }
  SearchResult result;
  result.nodes.assign(nodes.begin(), nodes.end());
  return result;
}

Error unknownFile(const std::string& file, const std::vector<std::string>& files) {
  const std::string near = core::nearestEnds(file, files);
  return {ErrorCode::kNotFound, "no source file of this run is named '" + file + "'" +
                                    (near.empty() ? "; it has " + core::join(files, ", ") : near)};
}

}  // namespace

Result<SearchResult> search(const Graph& graph, const std::string& query) {
  const std::vector<std::string> files = filesOf(graph);
  const std::size_t colon = query.rfind(':');
  const std::string file = query.substr(0, colon);
  const std::vector<std::string> named = filesEndingWith(files, file);
  if (named.empty()) {
    const bool pathAndLine = colon != std::string::npos && file.find('.') != std::string::npos &&
                             parseLines(query.substr(colon + 1));
    if (pathAndLine && !graph.findTensor(query)) return unknownFile(file, files);
    return searchText(graph, query);
  }
  if (named.size() > 1)
    return Error(ErrorCode::kUsage,
                 "'" + file + "' may mean " + core::join(named, " or ") + "; give more of the path");
  if (colon == std::string::npos) return searchLines(graph, named.front(), {});
  const std::optional<Lines> lines = parseLines(query.substr(colon + 1));
  if (!lines)
    return Error(ErrorCode::kUsage, "'" + query.substr(colon + 1) + "' is no line or range of lines; write " +
                                        file + ":52 or " + file + ":50-55");
  return searchLines(graph, named.front(), *lines);
}

}  // namespace msdbg::replay
