#include "app/panels/graph/graph_legend.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>

namespace msdbg::app {

using graphview::Health;
using graphview::Look;

namespace {

constexpr int kSide = 8, kMark = 12, kGap = 5, kWordGap = 14, kAbove = 3;
constexpr core::Phase kPhases[] = {core::Phase::kForward, core::Phase::kBackward, core::Phase::kUpdate,
                                   core::Phase::kCollective};
struct Word {
  Health health;
  const char* word;
};
constexpr Word kHealths[] = {{Health::kFinite, "finite"},
                             {Health::kAllZero, "all zero"},
                             {Health::kInf, "Inf"},
                             {Health::kNan, "NaN"}};

QString phaseWord(core::Phase phase) {
  const std::string_view name = core::phaseName(phase);
  return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

constexpr int kEach = 4;  // words of a kind
static_assert(std::size(kPhases) == kEach && std::size(kHealths) == kEach);

QString word(int index) {
  return index < kEach ? phaseWord(kPhases[index]) : QLatin1String(kHealths[index - kEach].word);
}

// Where each word stands: phases and healths in one line, or below each other where there is no room for it.
struct Places {
  QPoint at[2 * kEach];
  QSize size;
};
Places placesOf(const QFontMetrics& metrics, int width) {
  const int row = std::max(metrics.height(), kMark) + kAbove;
  int wide[2 * kEach], whole = 2 * kSide - kWordGap;
  for (int i = 0; i < 2 * kEach; ++i)
    whole += wide[i] = kMark + kGap + metrics.horizontalAdvance(word(i)) + kWordGap;
  const bool one = whole <= width;
  Places places;
  int x = kSide;
  for (int i = 0; i < 2 * kEach; ++i) {
    // Below each other the columns share their width.
    const int step = one ? wide[i] : std::max(wide[i % kEach], wide[i % kEach + kEach]);
    if (!one && i == kEach) x = kSide;
    places.at[i] = {x, kAbove + (one || i < kEach ? 0 : row)};
    x += step;
  }
  places.size = {one ? whole : x, kAbove + (one ? row : 2 * row)};
  return places;
}

}  // namespace

GraphLegend::GraphLegend(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("graphLegend"));
  setAccessibleName(tr("Legend of the graph"));
  QSizePolicy policy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

QSize GraphLegend::sizeHint() const { return placesOf(fontMetrics(), QWIDGETSIZE_MAX).size; }
QSize GraphLegend::minimumSizeHint() const { return {0, heightForWidth(0)}; }
int GraphLegend::heightForWidth(int width) const { return placesOf(fontMetrics(), width).size.height(); }

void GraphLegend::paintEvent(QPaintEvent*) {
  const Look look = graphview::lookOf(palette());
  const Places places = placesOf(fontMetrics(), width());
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  for (int i = 0; i < 2 * kEach; ++i) {
    const QPoint at = places.at[i];
    const int high = std::max(fontMetrics().height(), kMark);
    const QRectF mark(at.x() + 0.5, at.y() + (high - kMark) / 2.0 + 0.5, kMark - 1, kMark - 1);
    if (i < kEach) {
      painter.setPen(QPen(look.phaseMark(kPhases[i]), 1.2));
      painter.setBrush(look.phase(kPhases[i]));
      painter.drawRoundedRect(mark, 3, 3);
    } else {
      painter.setPen(Qt::NoPen);
      painter.setBrush(look.health(kHealths[i - kEach].health));
      painter.drawEllipse(mark.center(), 4.5, 4.5);
    }
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(at.x() + kMark + kGap,
                     at.y() + (high - fontMetrics().height()) / 2 + fontMetrics().ascent(), word(i));
  }
}

}  // namespace msdbg::app
