#include "app/panels/timeline/timeline_plot.h"

#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "core_engine/base/text.h"

namespace msdbg::app {
namespace {

constexpr double kMarkHeight = 0.035, kTopHeight = 0.955, kTopStep = 0.07;  // shares of the height
constexpr double kNear = 10;                                                // pixels
constexpr int kMostScatters = 60;  // more points than this are drawn as a line alone
constexpr int kMostInLegend = 8;

// As many labels as there is room for: a low plot has two, not six over one another.
class ValueTicker : public QCPAxisTicker {
 public:
  explicit ValueTicker(const QCPAxis& axis) : m_axis(axis) {}

 protected:
  double getTickStep(const QCPRange& range) override {
    const int room = m_axis.axisRect()->height() / (2 * QFontMetrics(m_axis.tickLabelFont()).height());
    setTickCount(std::clamp(room, 2, 5));
    return QCPAxisTicker::getTickStep(range);
  }

 private:
  const QCPAxis& m_axis;
};

// Whole iterations only.
class IterationTicker : public QCPAxisTicker {
 protected:
  double getTickStep(const QCPRange& range) override {
    return std::max(1.0, std::round(QCPAxisTicker::getTickStep(range)));
  }
  int getSubTickCount(double) override { return 0; }
};

QString valueText(const std::optional<double>& value) {
  return value ? QString::fromStdString(core::formatShort(*value)) : QStringLiteral("not recorded");
}

}  // namespace

TimelinePlot::TimelinePlot(QWidget* parent) : QCustomPlot(parent) {
  setObjectName(QStringLiteral("timelinePlot"));
  setAccessibleName(QStringLiteral("Timeline"));
  setMinimumSize(120, 90);
  setMouseTracking(true);
  makeAxes();
  makeLegend();
  makeCursor();
  connect(this, &QCustomPlot::mousePress, this, [this](QMouseEvent* event) { m_pressed = event->pos(); });
  connect(this, &QCustomPlot::mouseRelease, this, [this](QMouseEvent* event) { released(*event); });
  connect(this, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) { hovered(*event); });
  connect(this, &QCustomPlot::mouseDoubleClick, this, [this] { fit(); });
  connect(xAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, [this] {
    m_fitted = m_fitting;
    fitValues();
  });
  connect(this, &QCustomPlot::afterLayout, this, &TimelinePlot::placeCursor);
}

void TimelinePlot::makeAxes() {
  xAxis->setTicker(QSharedPointer<IterationTicker>::create());
  xAxis->setPadding(2);
  yAxis->setNumberFormat("gb");
  yAxis2->setRange(0, 1);  // shares of the height, for what has no value
  for (QCPAxis* axis : {xAxis, yAxis}) {
    axis->setSubTicks(false);
    axis->setTickLength(0, 4);
  }
  axisRect()->setMinimumMargins(QMargins(4, 6, 10, 2));
  setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
  axisRect()->setRangeDrag(Qt::Horizontal);
  axisRect()->setRangeZoom(Qt::Horizontal);
  m_faults = addGraph(xAxis, yAxis2);
  m_hints = addGraph(xAxis, yAxis2);
  for (QCPGraph* graph : {m_faults, m_hints}) graph->setLineStyle(QCPGraph::lsNone);
}

// A line of its own above the plot: it never covers a curve.
void TimelinePlot::makeLegend() {
  auto* row = new QCPLayoutGrid;
  plotLayout()->insertRow(0);
  plotLayout()->addElement(0, 0, row);
  row->addElement(0, 0, legend);
  row->addElement(0, 1, new QCPLayoutElement(this));  // takes the room that the legend does not need
  row->setColumnStretchFactor(0, 0.001);
  row->setMargins(QMargins(8, 2, 8, 0));
  plotLayout()->setRowSpacing(0);
  plotLayout()->setRowStretchFactor(0, 0.001);
  legend->setFillOrder(QCPLegend::foColumnsFirst);
  legend->setBorderPen(Qt::NoPen);
  legend->setBrush(Qt::NoBrush);
  legend->setMargins(QMargins(0, 0, 0, 0));
  legend->setIconSize(16, 10);
  for (QCPGraph* graph : {m_faults, m_hints}) graph->removeFromLegend();
}

// On a layer with a buffer of its own: a step of the cursor draws three items, not the lines.
void TimelinePlot::makeCursor() {
  addLayer(QStringLiteral("cursor"), layer(QStringLiteral("main")), limAbove);
  layer(QStringLiteral("cursor"))->setMode(QCPLayer::lmBuffered);
  m_cursorLine = new QCPItemLine(this);
  m_cursorPoint = new QCPItemTracer(this);
  m_cursorText = new QCPItemText(this);
  for (QCPAbstractItem* item :
       {static_cast<QCPAbstractItem*>(m_cursorLine), static_cast<QCPAbstractItem*>(m_cursorPoint),
        static_cast<QCPAbstractItem*>(m_cursorText)}) {
    item->setLayer(QStringLiteral("cursor"));
    item->setVisible(false);
  }
  for (QCPItemPosition* position : {m_cursorLine->start, m_cursorLine->end}) {
    position->setTypeX(QCPItemPosition::ptPlotCoords);
    position->setTypeY(QCPItemPosition::ptAxisRectRatio);
  }
  m_topText = new QCPItemText(this);
  m_topText->setText(QStringLiteral("NaN, Inf"));
  m_topText->position->setTypeX(QCPItemPosition::ptPlotCoords);
  m_topText->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
  m_topText->setPositionAlignment(Qt::AlignRight | Qt::AlignTop);
  m_topText->setVisible(false);
  m_cursorPoint->setStyle(QCPItemTracer::tsCircle);
  m_cursorPoint->setSize(9);
  m_cursorText->setPadding(QMargins(4, 1, 4, 1));
  m_cursorText->position->setType(QCPItemPosition::ptAbsolute);
}

void TimelinePlot::setLook(const graphview::Look& look) {
  m_look = look;
  applyColors();
  replot(rpQueuedReplot);
}

void TimelinePlot::applyColors() {
  setBackground(m_look.background);
  for (QCPAxis* axis : {xAxis, yAxis}) {
    axis->setBasePen(QPen(m_look.border));
    axis->setTickPen(QPen(m_look.border));
    axis->setTickLabelColor(m_look.mutedText);
    axis->setLabelColor(m_look.mutedText);
    axis->setTickLabelFont(font());
    axis->grid()->setPen(QPen(m_look.grid, 0));
    axis->grid()->setZeroLinePen(QPen(m_look.border, 0));
  }
  legend->setTextColor(m_look.text);
  legend->setFont(font());
  m_faults->setScatterStyle({QCPScatterStyle::ssTriangle, QPen(m_look.fault), m_look.fault, 9});
  m_hints->setScatterStyle({QCPScatterStyle::ssTriangle, QPen(m_look.hint), m_look.hint, 8});
  m_cursorLine->setPen(QPen(m_look.selection, 1.5));
  m_topText->setColor(m_look.mutedText);
  m_topText->setFont(font());
  m_cursorText->setColor(m_look.text);
  m_cursorText->setFont(font());
  QColor behind = m_look.background;
  behind.setAlpha(225);
  m_cursorText->setBrush(behind);
  m_cursorText->setPen(QPen(m_look.border, 0));
  for (std::size_t i = 0; i < m_drawn.size(); ++i) draw(m_drawn[i], i);
}

void TimelinePlot::makeGraphs(std::size_t count) {
  while (m_drawn.size() > count) {
    removeGraph(m_drawn.back().nonFinite);
    removeGraph(m_drawn.back().line);
    m_drawn.pop_back();
  }
  while (m_drawn.size() < count) {
    Drawn drawn;
    drawn.line = addGraph(xAxis, yAxis);
    drawn.nonFinite = addGraph(xAxis, yAxis2);
    drawn.nonFinite->setLineStyle(QCPGraph::lsNone);
    drawn.nonFinite->removeFromLegend();
    m_drawn.push_back(std::move(drawn));
  }
  const bool named = count > 1 && count <= kMostInLegend;
  legend->setVisible(named);
  plotLayout()->elementAt(0)->setMaximumSize(QWIDGETSIZE_MAX, named ? QWIDGETSIZE_MAX : 0);
}

void TimelinePlot::setLines(const std::vector<TimelineLine>& lines) {
  makeGraphs(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Drawn& drawn = m_drawn[i];
    drawn.rank = lines[i].rank;
    drawn.keys.clear();
    drawn.values.clear();
    for (const TimelinePoint& point : lines[i].points) {
      drawn.keys.append(static_cast<double>(point.iteration.value));
      drawn.values.append(point.value.value_or(qQNaN()));
    }
    drawn.nonFinite->data()->clear();
    for (const TimelinePoint& point : lines[i].points)
      if (point.value && !std::isfinite(*point.value))
        drawn.nonFinite->addData(static_cast<double>(point.iteration.value), kTopHeight - kTopStep * (i % 3));
    draw(drawn, i);
  }
  nameNonFinite();
  fitValues();
  replot(rpQueuedReplot);
}

// Says what the crosses at the top are, left of the first one.
void TimelinePlot::nameNonFinite() {
  double first = qInf();
  for (const Drawn& drawn : m_drawn)
    if (!drawn.nonFinite->data()->isEmpty())
      first = std::min(first, drawn.nonFinite->data()->constBegin()->key);
  m_topText->setVisible(std::isfinite(first));
  if (std::isfinite(first)) m_topText->position->setCoords(first, 0.01);
  m_topText->setPadding(QMargins(0, 0, 8, 0));
}

// Gaps where there is nothing to draw: NaN, Inf, not recorded, and on a logarithmic axis what is not
// positive.
void TimelinePlot::draw(Drawn& drawn, std::size_t) {
  QVector<double> shown = drawn.values;
  for (double& value : shown)
    if (!std::isfinite(value) || (m_logarithmic && value <= 0)) value = qQNaN();
  const QColor color = m_look.rank(drawn.rank);
  drawn.line->setData(drawn.keys, shown, true);
  drawn.line->setPen(QPen(color, 1.6));
  drawn.line->setName(QStringLiteral("rank %1").arg(drawn.rank.value));
  const bool points = shown.size() <= kMostScatters;
  drawn.line->setScatterStyle(points ? QCPScatterStyle(QCPScatterStyle::ssDisc, color, color, 4)
                                     : QCPScatterStyle(QCPScatterStyle::ssNone));
  drawn.nonFinite->setScatterStyle({QCPScatterStyle::ssCross, QPen(color, 1.6), Qt::NoBrush, 6});
}

void TimelinePlot::setMarks(const std::vector<TimelineMark>& marks) {
  m_marks = marks;
  m_faults->data()->clear();
  m_hints->data()->clear();
  for (const TimelineMark& mark : marks)
    (mark.fault ? m_faults : m_hints)->addData(static_cast<double>(mark.iteration.value), kMarkHeight);
  fitValues();
  replot(rpQueuedReplot);
}

void TimelinePlot::setLogarithmic(bool on) {
  if (m_logarithmic == on) return;
  m_logarithmic = on;
  yAxis->setScaleType(on ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
  for (std::size_t i = 0; i < m_drawn.size(); ++i) draw(m_drawn[i], i);
  fitValues();
  replot(rpQueuedReplot);
}

void TimelinePlot::fit() {
  double first = 0, last = 1;
  bool any = false;
  for (const Drawn& drawn : m_drawn) {
    if (drawn.keys.isEmpty()) continue;
    first = any ? std::min(first, drawn.keys.first()) : drawn.keys.first();
    last = any ? std::max(last, drawn.keys.last()) : drawn.keys.last();
    any = true;
  }
  const double margin = std::max(0.5, 0.02 * (last - first));
  m_fitting = m_fitted = true;
  xAxis->setRange(first - margin, last + margin);
  m_fitting = false;
  fitValues();
  replot(rpQueuedReplot);
}

// The values seen, with room for the marks below and the NaN above.
void TimelinePlot::fitValues() {
  double low = qInf(), high = -qInf();
  bool nonFinite = false;
  for (const Drawn& drawn : m_drawn) {
    const auto begin = std::lower_bound(drawn.keys.begin(), drawn.keys.end(), xAxis->range().lower);
    const auto end = std::upper_bound(begin, drawn.keys.end(), xAxis->range().upper);
    for (auto key = begin; key != end; ++key) {
      const double value = drawn.values[key - drawn.keys.begin()];
      if (!std::isfinite(value) || (m_logarithmic && value <= 0)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    nonFinite |= !drawn.nonFinite->data()->isEmpty();
  }
  if (low > high) low = m_logarithmic ? 0.1 : 0, high = 1;
  if (m_logarithmic) low = std::log10(low), high = std::log10(high);
  const double still = high != 0 && !m_logarithmic ? std::abs(high) * 0.1 : 0.5;
  const double span = high > low ? high - low : 2 * still;
  const double middle = (low + high) / 2;
  low = middle - span / 2 - span * (m_marks.empty() ? 0.08 : 0.14);
  high = middle + span / 2 + span * (nonFinite ? 0.18 : 0.08);
  if (m_logarithmic) low = std::pow(10, low), high = std::pow(10, high);
  yAxis->setRange(low, high);
  fitTicks(low, high);
}

// Powers of ten only where there are some; enough digits that neighbouring labels differ.
void TimelinePlot::fitTicks(double low, double high) {
  const bool powers = m_logarithmic && high / low > 30;
  yAxis->setTicker(powers ? QSharedPointer<QCPAxisTicker>(new QCPAxisTickerLog)
                          : QSharedPointer<QCPAxisTicker>(new ValueTicker(*yAxis)));
  yAxis->setSubTicks(powers);
  const double digits = std::log10(std::max(std::abs(low), std::abs(high)) / (high - low));
  yAxis->setNumberPrecision(std::clamp(static_cast<int>(std::ceil(digits)) + 3, 4, 15));
}

QString TimelinePlot::iterationText(core::Iteration iteration) const {
  return m_iterationText ? m_iterationText(iteration) : QString::number(iteration.value);
}

QString TimelinePlot::placeText(core::Iteration iteration, core::Rank rank,
                                const std::optional<double>& value) const {
  return QStringLiteral("iteration %1, rank %2: %3")
      .arg(iterationText(iteration), QString::number(rank.value), valueText(value));
}

void TimelinePlot::setCursor(core::Rank rank, core::Iteration iteration, std::optional<double> value) {
  m_rank = rank;
  m_iteration = iteration;
  m_value = value;
  const bool shown = iteration.valid();
  m_cursorLine->setVisible(shown);
  m_cursorText->setVisible(shown);
  m_cursorText->setText(placeText(iteration, rank, value));
  setAccessibleDescription(m_cursorText->text());
  placeCursor();
  layer(QStringLiteral("cursor"))->replot();
}

// The text stands beside the point, on the side that has more room, and inside the plot.
void TimelinePlot::placeCursor() {
  const double x = static_cast<double>(m_iteration.value);
  m_cursorLine->start->setCoords(x, 0);
  m_cursorLine->end->setCoords(x, 1);
  const bool drawn =
      m_iteration.valid() && m_value && std::isfinite(*m_value) && (!m_logarithmic || *m_value > 0);
  m_cursorPoint->setVisible(drawn);
  const QColor color = m_look.rank(m_rank);
  m_cursorPoint->setPen(QPen(m_look.background, 1.5));
  m_cursorPoint->setBrush(color);
  const QRect inside = axisRect()->rect();
  double y = inside.top() + 0.35 * inside.height();
  if (drawn) {
    m_cursorPoint->position->setCoords(x, *m_value);
    y = yAxis->coordToPixel(*m_value);
    y += y < inside.top() + 30 ? 18 : -16;
  }
  const double pixel = xAxis->coordToPixel(x);
  const bool left = pixel > inside.center().x();
  m_cursorText->setPositionAlignment(Qt::AlignVCenter | (left ? Qt::AlignRight : Qt::AlignLeft));
  m_cursorText->position->setCoords(pixel + (left ? -8 : 8), y);
}

double TimelinePlot::heightOf(const Drawn& drawn, qsizetype index) const {
  const double value = drawn.values[index];
  if (std::isfinite(value) && (!m_logarithmic || value > 0)) return yAxis->coordToPixel(value);
  const auto at = drawn.nonFinite->data()->findBegin(drawn.keys[index], false);
  if (at == drawn.nonFinite->data()->constEnd() || at->key != drawn.keys[index]) return qQNaN();
  return yAxis2->coordToPixel(at->value);
}

std::optional<std::pair<std::size_t, qsizetype>> TimelinePlot::pointAt(const QPointF& position) const {
  std::optional<std::pair<std::size_t, qsizetype>> best;
  double nearest = kNear;
  const double key = xAxis->pixelToCoord(position.x());
  for (std::size_t i = 0; i < m_drawn.size(); ++i) {
    const QVector<double>& keys = m_drawn[i].keys;
    if (keys.isEmpty()) continue;
    auto at = std::lower_bound(keys.begin(), keys.end(), key);
    if (at == keys.end() || (at != keys.begin() && key - *(at - 1) < *at - key)) --at;
    const qsizetype index = at - keys.begin();
    const double distance = std::abs(heightOf(m_drawn[i], index) - position.y());
    if (!(distance < nearest)) continue;
    nearest = distance;
    best = std::pair(i, index);
  }
  return best;
}

std::optional<std::size_t> TimelinePlot::markAt(const QPointF& position) const {
  if (std::abs(position.y() - yAxis2->coordToPixel(kMarkHeight)) > kNear) return {};
  std::optional<std::size_t> best;
  double nearest = kNear;
  for (std::size_t i = 0; i < m_marks.size(); ++i) {
    const double distance =
        std::abs(xAxis->coordToPixel(static_cast<double>(m_marks[i].iteration.value)) - position.x());
    if (distance < nearest) nearest = distance, best = i;
  }
  return best;
}

void TimelinePlot::released(const QMouseEvent& event) {
  const bool dragged = (event.pos() - m_pressed).manhattanLength() > 4;
  if (event.button() != Qt::LeftButton || dragged || !axisRect()->rect().contains(event.pos())) return;
  if (const auto mark = markAt(event.position())) {
    emit markClicked(*mark);
    return;
  }
  const double key = std::round(xAxis->pixelToCoord(event.position().x()));
  const auto point = pointAt(event.position());
  emit clicked(core::Iteration(static_cast<std::int64_t>(std::max(0.0, key))),
               point ? std::optional(m_drawn[point->first].rank) : std::nullopt);
}

void TimelinePlot::hovered(const QMouseEvent& event) {
  if (event.buttons() != Qt::NoButton) return;
  QString text;
  if (const auto mark = markAt(event.position())) {
    text =
        QStringLiteral("iteration %1\n%2").arg(iterationText(m_marks[*mark].iteration), m_marks[*mark].text);
  } else if (const auto point = pointAt(event.position())) {
    const Drawn& drawn = m_drawn[point->first];
    text = placeText(core::Iteration(static_cast<std::int64_t>(drawn.keys[point->second])), drawn.rank,
                     drawn.values[point->second]);
  }
  QToolTip::showText(event.globalPosition().toPoint(), text, this);
}

}  // namespace msdbg::app
