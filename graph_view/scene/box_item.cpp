#include "graph_view/scene/box_item.h"

#include <QPainter>
#include <QPainterPath>
#include <QStyleOptionGraphicsItem>
#include <algorithm>

namespace msdbg::graphview {
namespace {

// Below these zooms the text would be a smear: only titles, then only colours.
constexpr double kAllText = 0.55, kAnyText = 0.12;
constexpr double kSeen = 1.5;  // pixels

QColor mixed(const QColor& a, const QColor& b, double share) {
  const auto mix = [share](float x, float y) { return static_cast<float>(x + (y - x) * share); };
  return QColor::fromRgbF(mix(a.redF(), b.redF()), mix(a.greenF(), b.greenF()), mix(a.blueF(), b.blueF()));
}

QString qt(const std::string& text) { return QString::fromStdString(text); }

QPen cosmetic(const QColor& color, double width) {
  QPen pen(color, width);
  pen.setCosmetic(true);
  return pen;
}

}  // namespace

QColor scopeGround(const Look& look, core::Phase phase, int depth) {
  return mixed(look.background, look.phase(phase), depth % 2 ? 0.28 : 0.5);
}

core::Phase mainPhase(const std::array<std::int64_t, 5>& phases) {
  const auto most = std::ranges::max_element(phases);
  return *most == 0 ? core::Phase::kForward : static_cast<core::Phase>(most - phases.begin());
}

BoxItem::BoxItem(const Drawing& drawing, Content content, const QRectF& rect)
    : m_drawing(drawing), m_content(std::move(content)), m_rect(rect) {
  setZValue(m_content.open ? m_content.depth : 1000);
}

void BoxItem::setState(const State& state) {
  if (state == m_state) return;
  m_state = state;
  update();
}

double BoxItem::radius() const {
  if (isLabel()) return m_rect.height() / 2;
  return m_content.open ? 10 : BoxStyle::kRadius;
}

QPainterPath BoxItem::shape() const {
  QPainterPath path;
  path.addRoundedRect(m_rect, radius(), radius());
  return path;
}

QRectF BoxItem::buttonRect() const {
  if (!m_content.item.isScope()) return {};
  constexpr double kSide = BoxStyle::kButton;
  const double middle = m_content.open ? kHeaderHeight / 2 : 7 + m_drawing.style.titleMetrics().height() / 2;
  return {m_rect.left() + BoxStyle::kPadding, m_rect.top() + middle - kSide / 2, kSide, kSide};
}

void BoxItem::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
  const double detail = option->levelOfDetailFromTransform(painter->worldTransform());
  // What is smaller than a pixel is not seen; the mark of the first fault always is.
  if (detail * m_rect.width() < kSeen && m_state.hit != HitMark::kFirst && !m_state.selected) return;
  painter->setRenderHint(QPainter::Antialiasing);
  if (m_state.dimmed || m_state.health == Health::kAbsent) painter->setOpacity(0.28);
  paintFrame(*painter, detail);
  if (detail >= kAllText) {
    paintHeader(*painter);
    if (!m_content.open) paintLines(*painter);
  } else if (detail >= kAnyText) {
    paintTitleOnly(*painter, detail);
  }
  paintBadge(*painter, detail);
  paintHit(*painter, detail);
}

// A node's header has its phase's colour, its body the background's; a folded scope looks like a pile.
void BoxItem::paintFrame(QPainter& painter, double detail) const {
  const Look& look = m_drawing.look;
  const core::Phase phase = mainPhase(m_content.phases);
  const QColor fill = look.phase(phase), mark = look.phaseMark(phase);
  QColor border = mixed(look.background, mark, look.dark ? 0.75 : 0.6);
  if (m_content.item.isInput()) border = look.border;
  QPen pen = m_state.selected ? cosmetic(look.selection, 2.4) : cosmetic(border, 1.1);
  if (m_content.item.isCopy()) pen.setStyle(Qt::DashLine);
  if (m_state.selected || m_state.current) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(look.selectionFill);
    const double glow = 4 / std::clamp(detail, 0.3, 1.0);
    painter.drawRoundedRect(m_rect.adjusted(-glow, -glow, glow, glow), radius() + glow, radius() + glow);
  }
  const QPainterPath outline = shape();
  if (m_content.item.isScope() && !m_content.open) {
    painter.setPen(cosmetic(border, 1.1));
    painter.setBrush(mixed(look.background, fill, 0.6));
    painter.drawRoundedRect(m_rect.translated(4, 4), radius(), radius());
  }
  QColor body = look.background;
  if (m_content.open) body = scopeGround(look, phase, m_content.depth);
  if (m_content.item.isScope() && !m_content.open) body = fill;
  if (m_content.item.isInput()) body = look.grid;
  if (m_content.item.isCopy() && m_content.item.isNode()) body = fill;
  painter.fillPath(outline, body);
  if (m_content.item.isNode() && detail < kAllText) {
    painter.fillPath(outline, fill);
  } else if ((m_content.item.isNode() && !isLabel()) || m_content.open) {
    painter.save();
    painter.setClipPath(outline, Qt::IntersectClip);
    const double header = m_content.open ? kHeaderHeight : m_drawing.style.headerHeight(m_content.text);
    painter.fillRect(QRectF(m_rect.left(), m_rect.top(), m_rect.width(), header), fill);
    painter.restore();
  }
  if (m_content.item.isScope()) paintPhases(painter, outline);
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  painter.drawPath(outline);
}

// How many nodes of each phase are inside: a strip at the left side.
void BoxItem::paintPhases(QPainter& painter, const QPainterPath& inside) const {
  std::int64_t all = 0;
  for (const std::int64_t count : m_content.phases) all += count;
  if (all == 0) return;
  painter.save();
  painter.setClipPath(inside, Qt::IntersectClip);
  double y = m_rect.top();
  const double height = m_content.open ? kHeaderHeight : m_rect.height();
  for (std::size_t phase = 1; phase < m_content.phases.size(); ++phase) {
    const double share = static_cast<double>(m_content.phases[phase]) / static_cast<double>(all);
    painter.fillRect(QRectF(m_rect.left(), y, 4, height * share),
                     m_drawing.look.phaseMark(static_cast<core::Phase>(phase)));
    y += height * share;
  }
  painter.restore();
}

void BoxItem::paintHeader(QPainter& painter) const {
  const Look& look = m_drawing.look;
  const BoxStyle& style = m_drawing.style;
  const BoxText& text = m_content.text;
  const QFontMetricsF &title = style.titleMetrics(), &small = style.smallMetrics();
  painter.setFont(style.titleFont());
  painter.setPen(look.text);
  if (isLabel()) {
    const QString name = title.elidedText(qt(text.title), Qt::ElideMiddle, m_rect.width() - 16);
    painter.drawText(m_rect, Qt::AlignCenter, name);
    return;
  }
  const double button = m_content.item.isScope() ? BoxStyle::kButton + 8 : 0;
  const double left = m_rect.left() + BoxStyle::kPadding + button;
  const double room = m_rect.right() - BoxStyle::kPadding - BoxStyle::kBadgeWidth - left;
  if (m_content.item.isScope()) paintButton(painter);
  if (m_content.open) {
    const QString name = title.elidedText(qt(text.title), Qt::ElideMiddle, room);
    const double base = m_rect.top() + (kHeaderHeight + title.ascent() - title.descent()) / 2;
    painter.drawText(QPointF(left, base), name);
    const double used = title.horizontalAdvance(name) + 10;
    painter.setFont(style.smallFont());
    painter.setPen(look.mutedText);
    if (used + small.horizontalAdvance(qt(text.subtitle)) <= room)
      painter.drawText(QPointF(left + used, base), qt(text.subtitle));
    return;
  }
  double y = m_rect.top() + 7 + title.ascent();
  painter.drawText(QPointF(left, y), title.elidedText(qt(text.title), Qt::ElideMiddle, room));
  painter.setFont(style.smallFont());
  painter.setPen(look.mutedText);
  y += title.descent() + small.ascent();
  painter.drawText(QPointF(left, y), small.elidedText(qt(text.subtitle), Qt::ElideMiddle, room));
  y += small.height() + 2;
  const double whole = m_rect.right() - BoxStyle::kPadding - left;
  if (!text.note.empty())
    painter.drawText(QPointF(left, y), small.elidedText(qt(text.note), Qt::ElideRight, whole));
}

void BoxItem::paintLines(QPainter& painter) const {
  if (m_content.text.lines.empty()) return;
  const BoxStyle& style = m_drawing.style;
  const QFontMetricsF& small = style.smallMetrics();
  painter.setFont(style.smallFont());
  const double left = m_rect.left() + BoxStyle::kPadding, right = m_rect.right() - BoxStyle::kPadding;
  double y = m_rect.top() + style.headerHeight(m_content.text) + 4 + small.ascent() + 1;
  for (const auto& [name, value] : m_content.text.lines) {
    const double wide = small.horizontalAdvance(qt(value));
    painter.setPen(m_drawing.look.mutedText);
    painter.drawText(QPointF(left, y), small.elidedText(qt(name), Qt::ElideMiddle, right - left - wide - 10));
    painter.setPen(m_drawing.look.text);
    painter.drawText(QPointF(right - wide, y), qt(value));
    y += style.lineHeight();
  }
}

// Far away the title grows into the box, so that the picture can still be read.
void BoxItem::paintTitleOnly(QPainter& painter, double detail) const {
  const BoxStyle& style = m_drawing.style;
  const QString title = qt(m_content.text.title);
  const double wide = std::max(1.0, style.titleMetrics().horizontalAdvance(title));
  const double roomy = m_content.open ? kHeaderHeight : m_rect.height();
  const double grow =
      std::min({0.95 / detail, (m_rect.width() - 16) / wide, (roomy - 2) / style.titleMetrics().height()});
  QFont font = style.titleFont();
  font.setPixelSize(std::max(1, static_cast<int>(font.pixelSize() * grow)));
  if (font.pixelSize() * detail < 3.5) return;
  painter.setFont(font);
  painter.setPen(m_drawing.look.text);
  const QRectF place(m_rect.left() + 8, m_rect.top(), m_rect.width() - 16, roomy);
  painter.drawText(place, m_content.open ? Qt::AlignVCenter | Qt::AlignLeft : Qt::AlignCenter, title);
}

void BoxItem::paintButton(QPainter& painter) const {
  const QRectF at = buttonRect();
  painter.save();
  painter.setPen(QPen(m_drawing.look.mutedText, 1.2));
  painter.setBrush(m_drawing.look.background);
  painter.drawRoundedRect(at, 4, 4);
  painter.setPen(QPen(m_drawing.look.text, 1.6, Qt::SolidLine, Qt::RoundCap));
  const QPointF middle = at.center();
  painter.drawLine(middle - QPointF(4, 0), middle + QPointF(4, 0));
  if (!m_content.open) painter.drawLine(middle - QPointF(0, 4), middle + QPointF(0, 4));
  painter.restore();
}

// Finite is a dot; what is not is said in words, so that no one depends on the colour.
void BoxItem::paintBadge(QPainter& painter, double detail) const {
  if (m_state.health <= Health::kUnknown || m_content.item.isInput()) return;
  const QColor color = m_drawing.look.health(m_state.health);
  const double grow = std::clamp(0.55 / std::max(detail, 0.01), 1.0, 4.0);
  const double middle = m_content.open ? kHeaderHeight / 2 : 7 + m_drawing.style.titleMetrics().height() / 2;
  // Far away the title has all the box: the badge sits on the corner.
  const bool far = detail < kAllText || isLabel();
  if (far && m_content.open) return;
  const QPointF at(m_rect.right() - (far ? 0 : BoxStyle::kPadding), m_rect.top() + (far ? 0 : middle));
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  if (m_state.health == Health::kFinite) {
    // A green dot beside the mark of a fault would say that all is well.
    if (far || m_state.hit >= HitMark::kFault) return;
    painter.drawEllipse(at - QPointF(5, 0), 4, 4);
    return;
  }
  QFont font = m_drawing.style.smallFont();
  font.setBold(true);
  font.setPixelSize(static_cast<int>(font.pixelSize() * 0.92 * grow));
  const QString word = m_state.health == Health::kNan ? "NaN" : m_state.health == Health::kInf ? "Inf" : "0";
  const QFontMetricsF metrics(font);
  const double wide = metrics.horizontalAdvance(word) + 10 * grow, high = metrics.height() + 1;
  const QRectF pill(at.x() - wide + 3, at.y() - high / 2, wide, high);
  painter.drawRoundedRect(pill, high / 2, high / 2);
  painter.setFont(font);
  painter.setPen(m_drawing.look.background);
  painter.drawText(pill, Qt::AlignCenter, word);
}

void BoxItem::paintHit(QPainter& painter, double detail) const {
  if (m_state.hit == HitMark::kNone) return;
  const bool first = m_state.hit == HitMark::kFirst;
  if (!first && detail < kAnyText) return;
  const double grow = first ? std::clamp(0.7 / std::max(detail, 0.01), 1.2, 6.0) : 0.8;
  const QPointF at = m_rect.topLeft() + QPointF(1, 1);
  const double side = 8.5 * grow;
  const QPolygonF flag(
      {at + QPointF(-side, side * 0.75), at + QPointF(side, side * 0.75), at + QPointF(0, -side)});
  painter.setPen(QPen(m_drawing.look.background, 1.6 * grow, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.setBrush(m_state.hit == HitMark::kHint ? m_drawing.look.hint : m_drawing.look.fault);
  painter.drawPolygon(flag);
  painter.setPen(QPen(m_drawing.look.background, 1.8 * grow, Qt::SolidLine, Qt::RoundCap));
  painter.drawLine(at - QPointF(0, side * 0.35), at + QPointF(0, side * 0.15));
  painter.drawPoint(at + QPointF(0, side * 0.5));
}

}  // namespace msdbg::graphview
