// What the layout is asked: the open scopes of a FoldedGraph as nested blocks, measured. Pure functions.
#pragma once

#include <functional>
#include <string>

#include "graph_view/layout/nested.h"
#include "graph_view/model/box_text.h"

namespace msdbg::app {

/// How large things are drawn; from the view.
struct GraphMetrics {
  std::function<graphview::Size(const graphview::BoxText&, graphview::Item::Kind)> box;
  std::function<double(const std::string&)> label;
};

/// The root and everything open below it. Boxes and links are in the order of FoldedGraph::contents().
graphview::Block blockOf(const graphview::FoldedGraph& folded, const GraphMetrics& metrics);

}  // namespace msdbg::app
