// The colours of the window, for light and dark desktops: derived from the palette once, used by the graph
// and by every panel that draws. Contrast against the background is at least 3:1 for marks and 4.5:1 for
// text.
#pragma once

#include <QColor>
#include <QPalette>
#include <array>

#include "core_engine/graph/graph.h"
#include "graph_view/model/health.h"

namespace msdbg::graphview {

struct Look {
  bool dark = false;
  QColor background, text, mutedText, grid, border, selection, selectionFill;
  QColor fault, hint, good;
  std::array<QColor, 8> ranks;  // line colours; rank R uses R % 8

  QColor phase(core::Phase phase) const;      // fill of a node
  QColor phaseMark(core::Phase phase) const;  // its border and the legend
  QColor health(Health health) const;
  QColor rank(core::Rank rank) const { return ranks[rank.index() % ranks.size()]; }
};

Look lookOf(const QPalette& palette);

}  // namespace msdbg::graphview
