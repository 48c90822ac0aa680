#include "app/panels/tensor/histogram_page.h"

#include <qcustomplot.h>

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

#include "graph_view/scene/look.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

// Bin centres; a range of one value gets bins of some width around it.
QVector<double> centresOf(const replay::Histogram& histogram, double& width) {
  const auto bins = static_cast<double>(histogram.bins.size());
  width = (histogram.range.high - histogram.range.low) / bins;
  double low = histogram.range.low;
  if (!(width > 0)) {
    const double around = std::max(std::abs(low), 1.0);
    width = around / bins;
    low -= width / 2;
  }
  QVector<double> centres;
  for (std::size_t i = 0; i < histogram.bins.size(); ++i)
    centres << low + (static_cast<double>(i) + 0.5) * width;
  return centres;
}

QVector<double> countsOf(const replay::Histogram& histogram) {
  return {histogram.bins.begin(), histogram.bins.end()};
}

QString counts(const QString& name, const replay::Histogram& histogram) {
  const auto number = [](std::int64_t value) { return QString::fromStdString(replay::groupedNumber(value)); };
  std::int64_t finite = 0;
  for (const std::int64_t count : histogram.bins) finite += count;
  return QObject::tr("%1finite %2 · zero %3 · NaN %4 · +Inf %5 · −Inf %6")
      .arg(name, number(finite), number(histogram.zero), number(histogram.nan), number(histogram.posInf),
           number(histogram.negInf));
}

}  // namespace

HistogramPage::HistogramPage(QWidget* parent) : QWidget(parent) {
  m_log = new QCheckBox(tr("Logarithmic counts"));
  m_log->setObjectName("histogramLog");
  m_plot = new QCustomPlot;
  m_plot->setObjectName("histogram");
  m_plot->setAccessibleName(tr("Histogram"));
  m_plot->setMinimumHeight(90);
  m_bars = new QCPBars(m_plot->xAxis, m_plot->yAxis);
  m_outline = m_plot->addGraph();
  m_outline->setLineStyle(QCPGraph::lsStepCenter);
  m_legend = new QLabel;
  m_legend->setObjectName("histogramLegend");
  m_caption = new QLabel;
  m_caption->setObjectName("histogramCaption");
  m_caption->setWordWrap(true);
  m_caption->setTextFormat(Qt::PlainText);
  m_message = new QLabel;
  m_message->setWordWrap(true);
  m_message->setTextFormat(Qt::PlainText);
  m_message->setAlignment(Qt::AlignCenter);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 6, 0, 0);
  layout->setSpacing(4);
  auto* line = new QHBoxLayout;
  line->addWidget(m_log);
  line->addStretch(1);
  line->addWidget(m_legend);
  layout->addLayout(line);
  layout->addWidget(m_message, 1);
  layout->addWidget(m_plot, 1);
  layout->addWidget(m_caption);
  connect(m_log, &QCheckBox::toggled, this, &HistogramPage::scale);
  recolour();
  refresh();
}

void HistogramPage::setPresenter(TensorPresenter* presenter) {
  if (m_presenter) m_presenter->disconnect(this);
  m_presenter = presenter;
  if (presenter) {
    connect(presenter, &TensorPresenter::histogramsChanged, this, &HistogramPage::refresh);
    connect(presenter, &TensorPresenter::answered, this, &HistogramPage::refresh);
  }
  refresh();
  watch();
}

bool HistogramPage::logarithmic() const { return m_log->isChecked(); }
void HistogramPage::setLogarithmic(bool on) { m_log->setChecked(on); }

void HistogramPage::watch() {
  if (m_presenter) m_presenter->watchHistograms(isVisible());
}
void HistogramPage::showEvent(QShowEvent*) { watch(); }
void HistogramPage::hideEvent(QHideEvent*) { watch(); }

void HistogramPage::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) recolour();
  QWidget::changeEvent(event);
}

QString HistogramPage::caption() const {
  const Histograms& histograms = m_presenter->histograms();
  QStringList lines;
  if (histograms.a) lines << counts(m_presenter->comparing() ? "A: " : "", *histograms.a);
  if (histograms.b) lines << counts("B: ", *histograms.b);
  return lines.join('\n');
}

void HistogramPage::refresh() {
  const Histograms histograms = m_presenter ? m_presenter->histograms() : Histograms();
  const QString message = m_presenter ? m_presenter->message(Side::kA) : QString();
  const bool something = histograms.a || histograms.b;
  m_message->setText(message);
  m_message->setVisible(!something);
  m_plot->setVisible(something);
  m_log->setVisible(something);
  m_legend->setVisible(something);
  m_caption->setVisible(something);
  if (!something) return;
  m_caption->setText(caption());
  double width = 1;
  m_bars->data()->clear();
  m_outline->data()->clear();
  if (histograms.a) m_bars->setData(centresOf(*histograms.a, width), countsOf(*histograms.a), true);
  m_bars->setWidth(width);
  if (histograms.b) m_outline->setData(centresOf(*histograms.b, width), countsOf(*histograms.b), true);
  m_legend->setVisible(histograms.a && histograms.b);
  scale();
}

void HistogramPage::scale() {
  const bool log = m_log->isChecked();
  m_plot->yAxis->setScaleType(log ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
  m_plot->yAxis->setTicker(log ? QSharedPointer<QCPAxisTicker>(new QCPAxisTickerLog)
                               : QSharedPointer<QCPAxisTicker>(new QCPAxisTicker));
  m_plot->yAxis->setNumberFormat(log ? "eb" : "gb");
  m_plot->yAxis->setNumberPrecision(log ? 0 : 6);
  m_plot->xAxis->rescale();
  double most = 1;
  for (const QCPBarsData& bar : *m_bars->data()) most = std::max(most, bar.value);
  for (const QCPGraphData& point : *m_outline->data()) most = std::max(most, point.value);
  // Half an element below one, so that a bin of one is still seen.
  m_plot->yAxis->setRange(log ? 0.5 : 0, log ? most * 2 : most * 1.05);
  m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void HistogramPage::recolour() {
  const graphview::Look look = graphview::lookOf(palette());
  m_plot->setBackground(look.background);
  for (QCPAxis* axis : {m_plot->xAxis, m_plot->yAxis}) {
    axis->setBasePen(QPen(look.border));
    axis->setTickPen(QPen(look.border));
    axis->setSubTickPen(QPen(look.border));
    axis->setTickLabelColor(look.text);
    axis->setTickLabelFont(font());
    axis->grid()->setPen(QPen(look.grid));
    axis->grid()->setZeroLinePen(QPen(look.border));
    axis->ticker()->setTickCount(4);
  }
  m_plot->xAxis->setNumberPrecision(3);
  QColor fill = look.ranks[0];
  fill.setAlpha(150);
  m_bars->setBrush(fill);
  m_bars->setPen(QPen(look.ranks[0], 0));
  m_outline->setPen(QPen(look.ranks[1], 1.5));
  // Beside the plot, which is often low: it never covers a bar.
  m_legend->setText(
      QStringLiteral("<span style='color: %1'>■</span> A &nbsp; <span style='color: %2'>▬</span> B")
          .arg(look.ranks[0].name(), look.ranks[1].name()));
  m_plot->replot(QCustomPlot::rpQueuedReplot);
}

}  // namespace msdbg::app
