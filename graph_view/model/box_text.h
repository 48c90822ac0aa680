// What stands in the box of an item and on an edge, as text; how it looks is the scene's. Pure functions of a
// FoldedGraph.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph_view/model/folded_graph.h"

namespace msdbg::graphview {

struct BoxText {
  std::string title;                                       // operator type, name of the scope or of the input
  std::string subtitle;                                    // "Conv-op1", "12 nodes"
  std::vector<std::pair<std::string, std::string>> lines;  // what is folded in, and its shape
  std::string note;                                        // scopes: the operator types inside
};

/// At most six lines; what is over is one line more.
BoxText boxText(const FoldedGraph& folded, Item item);

/// "64×3×32×32"; "scalar"; "?" for unknown dimensions.
std::string shapeText(const core::Shape& shape);
/// The shape of the tensor, or "3 tensors".
std::string edgeText(const core::Graph& graph, const Edge& edge);
/// The name without its scopes, also inside parentheses: "momentum(network/conv1/weight)" ->
/// "momentum(weight)".
std::string shortName(const std::string& name);

/// How many characters at their beginning the names have in common, as whole scopes: 8 for
/// "network/a/weight" and "network/b/weight". 0 of fewer than two names.
std::size_t sharedScope(const std::vector<std::string>& names);

// Everything about it, several lines of plain text.
std::string tooltip(const FoldedGraph& folded, Item item);
std::string tooltip(const FoldedGraph& folded, const Edge& edge);

}  // namespace msdbg::graphview
