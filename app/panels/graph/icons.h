// The symbols of the graph's toolbar, drawn in the colour of the text so that they fit any palette. UI
// thread.
#pragma once

#include <QIcon>
#include <QPalette>

namespace msdbg::app {

enum class GraphIcon {
  kFit,
  kZoomIn,
  kZoomOut,
  kExpandAll,
  kCollapseAll,
  kUpstream,
  kDownstream,
  kWay,
  kLegend
};
QIcon graphIcon(GraphIcon icon, const QPalette& palette);

}  // namespace msdbg::app
