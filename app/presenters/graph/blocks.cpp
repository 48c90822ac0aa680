#include "app/presenters/graph/blocks.h"

#include <algorithm>

namespace msdbg::app {

using graphview::Block;
using graphview::FoldedGraph;
using graphview::Item;
using graphview::ScopeId;

namespace {

constexpr std::size_t kMostColumns = 8;

// Forward, backward and update side by side: a root that holds nothing but these parts.
bool inColumns(const FoldedGraph& folded) {
  const auto& children = folded.scope(folded.root()).children;
  int parts = 0;
  for (const std::int64_t nodes : folded.scope(folded.root()).phases) parts += nodes > 0 ? 1 : 0;
  return parts > 1 && children.size() <= kMostColumns &&
         std::ranges::all_of(children, [](const Item& item) { return item.isScope(); });
}

Block openBlock(const FoldedGraph& folded, const GraphMetrics& metrics, ScopeId scope);

Block boxBlock(const FoldedGraph& folded, const GraphMetrics& metrics, const Item& item) {
  if (item.isScope() && folded.isExpanded(item.scope())) return openBlock(folded, metrics, item.scope());
  Block block;
  if (item.isScope() || item.isNode() || item.isInput())
    block.size = metrics.box(boxText(folded, item), item.isCopy() ? Item::Kind::kInput : item.kind);
  return block;
}

Block openBlock(const FoldedGraph& folded, const GraphMetrics& metrics, ScopeId scope) {
  const graphview::ScopeContents& contents = folded.contents(scope);
  Block block;
  block.key = scope.value;
  block.open = true;
  block.bare = scope == folded.root();
  // The header must hold at least the scope's name.
  if (!block.bare) block.size = metrics.box(boxText(folded, Item::of(scope)), Item::Kind::kScope);
  for (std::size_t i = 0; i < contents.items.size(); ++i) {
    const Item& item = contents.items[i];
    block.inner.push_back(boxBlock(folded, metrics, item));
    if (item.kind == Item::Kind::kEntry) block.links.entry = static_cast<int>(i);
    if (item.kind == Item::Kind::kExit) block.links.exit = static_cast<int>(i);
  }
  for (const graphview::Edge& edge : contents.edges) {
    const bool labelled = edge.from != block.links.entry && edge.to != block.links.exit;
    block.links.links.push_back(
        {edge.from, edge.to, labelled ? metrics.label(edgeText(folded.graph(), edge)) : 0});
  }
  block.links.columns = block.bare && inColumns(folded);
  return block;
}

}  // namespace

Block blockOf(const FoldedGraph& folded, const GraphMetrics& metrics) {
  return openBlock(folded, metrics, folded.root());
}

}  // namespace msdbg::app
