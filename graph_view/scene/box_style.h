// BoxStyle: fonts and measures of everything in the picture of a graph; sizes for the layout and for painting
// are the same. A value made from the application's font. UI thread.
#pragma once

#include <QFont>
#include <QFontMetricsF>
#include <QString>
#include <unordered_map>

#include "graph_view/layout/nested.h"
#include "graph_view/model/box_text.h"

namespace msdbg::graphview {

class BoxStyle {
 public:
  explicit BoxStyle(const QFont& base);

  Size size(const BoxText& text, Item::Kind kind) const;
  double labelWidth(const std::string& text) const;

  const QFont& titleFont() const { return m_title; }
  const QFont& smallFont() const { return m_small; }
  const QFontMetricsF& titleMetrics() const { return m_titleMetrics; }
  const QFontMetricsF& smallMetrics() const { return m_smallMetrics; }
  double headerHeight(const BoxText& text) const;  // of a box: title and subtitle
  double lineHeight() const;
  double titleWidth(const std::string& text) const { return width(m_titleMetrics, m_titleWidths, text); }
  double smallWidth(const std::string& text) const { return width(m_smallMetrics, m_smallWidths, text); }

  static constexpr double kPadding = 10, kRadius = 6, kButton = 16, kBadgeWidth = 34, kWidest = 250;

 private:
  // Measuring is what takes longest about a box, and layers repeat each other's words.
  using Widths = std::unordered_map<std::string, double>;
  static double width(const QFontMetricsF& metrics, Widths& known, const std::string& text);
  QFont m_title, m_small;
  QFontMetricsF m_titleMetrics, m_smallMetrics;
  mutable Widths m_titleWidths, m_smallWidths;
};

}  // namespace msdbg::graphview
