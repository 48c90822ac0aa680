#include "app/panels/graph/graph_legend.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>

namespace msdbg::app {

using graphview::Health;
using graphview::Look;

namespace {

constexpr int kMargin = 10, kMark = 12, kGap = 8, kColumnGap = 18;
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

struct Columns {
  int first = 0, second = 0, row = 0;
};
Columns columnsOf(const QFontMetrics& metrics) {
  Columns columns;
  for (const core::Phase phase : kPhases)
    columns.first = std::max(columns.first, metrics.horizontalAdvance(phaseWord(phase)));
  for (const Word& word : kHealths)
    columns.second = std::max(columns.second, metrics.horizontalAdvance(QLatin1String(word.word)));
  columns.row = std::max(metrics.height(), kMark) + 4;
  return columns;
}

}  // namespace

GraphLegend::GraphLegend(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("graphLegend"));
  setAccessibleName(tr("Legend of the graph"));
  setAttribute(Qt::WA_TransparentForMouseEvents);
}

QSize GraphLegend::sizeHint() const {
  const Columns columns = columnsOf(fontMetrics());
  return {2 * (kMargin + kMark + kGap) + columns.first + kColumnGap + columns.second,
          2 * kMargin + 4 * columns.row - 4};
}

void GraphLegend::paintEvent(QPaintEvent*) {
  const Look look = graphview::lookOf(palette());
  const Columns columns = columnsOf(fontMetrics());
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  QColor ground = look.background;
  ground.setAlpha(235);
  painter.setBrush(ground);
  painter.setPen(look.grid);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 7, 7);
  const int second = kMargin + kMark + kGap + columns.first + kColumnGap;
  for (int row = 0; row < 4; ++row) {
    const int y = kMargin + row * columns.row;
    const QRectF mark(kMargin + 0.5, y + (columns.row - 4 - kMark) / 2.0, kMark, kMark);
    painter.setPen(QPen(look.phaseMark(kPhases[row]), 1.2));
    painter.setBrush(look.phase(kPhases[row]));
    painter.drawRoundedRect(mark, 3, 3);
    painter.setPen(Qt::NoPen);
    painter.setBrush(look.health(kHealths[row].health));
    painter.drawEllipse(mark.translated(second - kMargin, 0).center(), 4.5, 4.5);
    painter.setPen(look.text);
    const int textY = y + (columns.row - 4 - fontMetrics().height()) / 2 + fontMetrics().ascent();
    painter.drawText(kMargin + kMark + kGap, textY, phaseWord(kPhases[row]));
    painter.drawText(second + kMark + kGap, textY, QLatin1String(kHealths[row].word));
  }
}

}  // namespace msdbg::app
