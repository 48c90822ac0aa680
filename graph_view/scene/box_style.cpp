#include "graph_view/scene/box_style.h"

#include <algorithm>
#include <cmath>

namespace msdbg::graphview {
namespace {

constexpr std::size_t kMostKnown = 20'000;

// Pixels, so that a box has the same proportions whatever the unit of the application's font is.
QFont sized(const QFont& base, double factor, QFont::Weight weight) {
  QFont font = base;
  const double pixels = base.pixelSize() > 0 ? base.pixelSize() : QFontMetricsF(base).height() * 0.82;
  font.setPixelSize(static_cast<int>(std::lround(std::clamp(pixels, 10.0, 24.0) * factor)));
  font.setWeight(weight);
  return font;
}

}  // namespace

BoxStyle::BoxStyle(const QFont& base)
    : m_title(sized(base, 1.08, QFont::DemiBold)),
      m_small(sized(base, 0.87, QFont::Normal)),
      m_titleMetrics(m_title),
      m_smallMetrics(m_small) {}

double BoxStyle::headerHeight(const BoxText& text) const {
  const double subtitle = text.subtitle.empty() ? 0 : m_smallMetrics.height();
  const double note = text.note.empty() ? 0 : m_smallMetrics.height() + 2;
  return std::ceil(m_titleMetrics.height() + subtitle + note + 14);
}

double BoxStyle::lineHeight() const { return std::ceil(m_smallMetrics.height() + 2); }

Size BoxStyle::size(const BoxText& text, Item::Kind kind) const {
  const double title = titleWidth(text.title);
  if (kind == Item::Kind::kInput)
    return {std::ceil(std::min(title, kWidest) + 34), std::ceil(m_titleMetrics.height() + 12)};
  const double button = kind == Item::Kind::kScope ? kButton + 8 : 0;
  double width = std::max(title, smallWidth(text.subtitle)) + button + kBadgeWidth + 8;
  width = std::max(width, smallWidth(text.note) + button);
  for (const auto& [name, value] : text.lines)
    width = std::max(width, smallWidth(name) + 14 + smallWidth(value));
  double height = headerHeight(text);
  if (!text.lines.empty()) height += static_cast<double>(text.lines.size()) * lineHeight() + 9;
  return {std::ceil(std::clamp(width, 116.0, kWidest) + 2 * kPadding), height};
}

double BoxStyle::labelWidth(const std::string& text) const { return std::ceil(smallWidth(text)); }

double BoxStyle::width(const QFontMetricsF& metrics, Widths& known, const std::string& text) {
  if (known.size() > kMostKnown) known.clear();
  const auto [found, made] = known.try_emplace(text, 0);
  if (made) found->second = metrics.horizontalAdvance(QString::fromStdString(text));
  return found->second;
}

}  // namespace msdbg::graphview
