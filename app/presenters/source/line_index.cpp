#include "app/presenters/source/line_index.h"

#include <algorithm>
#include <vector>

namespace msdbg::app {
namespace {

// A line counts once for a node, however many of its frames are on it (recursion, one-line scopes).
using Places = std::vector<std::pair<const std::string*, std::int32_t>>;

Places placesOf(const core::Graph& graph, const core::Node& node) {
  Places places;
  for (const core::FrameId id : node.frames) {
    const core::Frame& frame = graph.frame(id);
    const bool seen = std::ranges::any_of(
        places, [&](const auto& p) { return p.second == frame.line && *p.first == frame.file; });
    if (!seen) places.emplace_back(&frame.file, frame.line);
  }
  return places;
}

}  // namespace

LineIndex::LineIndex(const core::Graph& graph) {
  for (const core::Frame& frame : graph.frames()) m_files[frame.file];
  // A derived node belongs to the lines of the node that it exists for.
  for (const core::Node& node : graph.nodes()) {
    const core::Node& written = node.derivedFrom.valid() ? graph.node(node.derivedFrom) : node;
    if (written.derivedFrom.valid()) continue;
    for (const auto& [file, line] : placesOf(graph, written)) ++m_files[*file][line];
  }
}

const LineIndex::Counts& LineIndex::of(const std::string& file) const {
  static const Counts kNone;
  const auto found = m_files.find(file);
  return found == m_files.end() ? kNone : found->second;
}

}  // namespace msdbg::app
