#include "app/panels/timeline/timeline_panel.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QStackedLayout>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/panels/builtin_panels.h"
#include "app/panels/elided_label.h"
#include "app/panels/timeline/position_bar.h"
#include "app/panels/timeline/timeline_plot.h"

namespace msdbg::app {
namespace {

const QString kQuantity = QStringLiteral("quantity"), kLog = QStringLiteral("log");

QToolButton* toolButton(const QString& text, const QString& toolTip, const char* name, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setText(text);
  button->setToolTip(toolTip);
  button->setAccessibleName(toolTip);
  button->setObjectName(QLatin1String(name));
  button->setAutoRaise(true);
  return button;
}

bool anyPoint(const Timeline& timeline) {
  return std::ranges::any_of(timeline.lines(), [](const TimelineLine& line) {
    return std::ranges::any_of(line.points, [](const TimelinePoint& p) { return p.value.has_value(); });
  });
}

}  // namespace

TimelinePanel::TimelinePanel(QWidget* parent)
    : Panel(parent),
      m_quantity(new QComboBox(this)),
      m_title(new ElidedLabel(this)),
      m_log(toolButton(QStringLiteral("Log"), QStringLiteral("Logarithmic values"), "logButton", this)),
      m_fit(toolButton(QStringLiteral("Fit"), QStringLiteral("Show all iterations (double click)"),
                       "fitButton", this)),
      m_notice(new QLabel(this)),
      m_hint(new QLabel(this)),
      m_pages(new QStackedLayout),
      m_plot(new TimelinePlot(this)),
      m_position(new PositionBar(this)) {
  makeLayout();
  applyLook();
  connect(m_quantity, &QComboBox::activated, this, [this](int index) {
    m_wanted = m_quantity->itemData(index).toString();
    if (m_timeline) m_timeline->setQuantity(m_wanted);
  });
  connect(m_log, &QToolButton::toggled, m_plot, &TimelinePlot::setLogarithmic);
  connect(m_fit, &QToolButton::clicked, m_plot, &TimelinePlot::fit);
  m_plot->setIterationText([this](core::Iteration iteration) {
    return m_document ? m_document->facts().iterationText(iteration) : QString::number(iteration.value);
  });
  connect(m_plot, &TimelinePlot::clicked, this, &TimelinePanel::goTo);
  connect(m_plot, &TimelinePlot::markClicked, this, [this](std::size_t mark) {
    if (m_timeline) m_document->cursor().moveTo(m_timeline->placeOf(m_timeline->marks()[mark]));
  });
  setDocument(nullptr);
}

TimelinePanel::~TimelinePanel() = default;

void TimelinePanel::makeLayout() {
  m_quantity->setObjectName(QStringLiteral("quantityCombo"));
  m_quantity->setAccessibleName(QStringLiteral("Quantity"));
  m_quantity->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  m_quantity->setMaxVisibleItems(30);
  m_title->setElideMode(Qt::ElideMiddle);
  m_log->setCheckable(true);
  m_notice->setObjectName(QStringLiteral("timelineNotice"));
  m_notice->setWordWrap(true);
  m_hint->setObjectName(QStringLiteral("timelineHint"));
  m_hint->setWordWrap(true);
  m_hint->setAlignment(Qt::AlignCenter);
  m_hint->setMargin(12);
  m_hint->setAutoFillBackground(true);
  m_hint->setBackgroundRole(QPalette::Base);
  for (QLabel* label : {m_notice, m_hint}) label->setTextFormat(Qt::PlainText);

  auto* tools = new QHBoxLayout;
  tools->setSpacing(6);
  tools->addWidget(m_quantity);
  tools->addWidget(m_title, 1);
  tools->addWidget(m_log);
  tools->addWidget(m_fit);
  m_pages->addWidget(m_hint);
  m_pages->addWidget(m_plot);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 6, 8, 6);
  layout->setSpacing(4);
  layout->addLayout(tools);
  layout->addWidget(m_notice);
  layout->addLayout(m_pages, 1);
  layout->addWidget(m_position);
}

void TimelinePanel::setDocument(Document* document) {
  if (m_document) m_document->cursor().disconnect(this);
  m_timeline.reset();
  m_document = document;
  m_position->setDocument(document);
  for (QWidget* widget : std::initializer_list<QWidget*>{m_quantity, m_log, m_fit})
    widget->setEnabled(document);
  m_quantity->clear();
  m_plot->setLines({});
  m_plot->setMarks({});
  m_plot->setCursor({}, {}, {});
  if (!document) {
    m_title->setLine({});
    m_notice->hide();
    m_hint->setText(QStringLiteral("Open a run to see its loss over the iterations."));
    m_pages->setCurrentWidget(m_hint);
    return;
  }
  m_timeline = std::make_unique<Timeline>(*document);
  fillQuantities();
  connect(m_timeline.get(), &Timeline::linesChanged, this, &TimelinePanel::showLines);
  connect(m_timeline.get(), &Timeline::quantityChanged, this, &TimelinePanel::showQuantity);
  connect(m_timeline.get(), &Timeline::quantitiesChanged, this, &TimelinePanel::fillQuantities);
  connect(m_timeline.get(), &Timeline::marksChanged, this, [this] { m_plot->setMarks(m_timeline->marks()); });
  connect(&document->cursor(), &Cursor::positionChanged, this, &TimelinePanel::showCursor);
  m_plot->setMarks(m_timeline->marks());
  if (!m_wanted.isEmpty()) m_timeline->setQuantity(m_wanted);
  showQuantity();
  showLines();
}

void TimelinePanel::fillQuantities() {
  const QSignalBlocker blocker(m_quantity);
  m_quantity->clear();
  bool ofTensor = false;
  for (const Quantity& quantity : m_timeline->quantities()) {
    if (quantity.ofTensor && !ofTensor && m_quantity->count() > 0)
      m_quantity->insertSeparator(m_quantity->count());
    ofTensor = quantity.ofTensor;
    m_quantity->addItem(quantity.title, quantity.id);
    m_quantity->setItemData(
        m_quantity->count() - 1,
        quantity.ofTensor ? QStringLiteral("of the selected tensor") : QStringLiteral("of the run"),
        Qt::ToolTipRole);
  }
}

// Another quantity or tensor: its values have nothing to do with the old zoom.
void TimelinePanel::showQuantity() {
  m_fitNext = true;
  const QSignalBlocker blocker(m_quantity);
  m_quantity->setCurrentIndex(m_quantity->findData(m_timeline->quantity().id));
}

void TimelinePanel::showLines() {
  const QString title = m_timeline->title();
  const QString name = m_timeline->quantity().title;
  m_title->setLine(title == name ? QString() : title.mid(name.size() + 1));
  const bool any = anyPoint(*m_timeline);
  m_plot->setLines(m_timeline->lines());
  if (m_fitNext || m_plot->fitted()) m_plot->fit();  // a run that grows stays in sight as a whole
  if (!m_timeline->reading()) m_fitNext = false;
  m_notice->setText(m_timeline->message());
  m_notice->setVisible(any && !m_timeline->message().isEmpty());
  m_hint->setText(m_timeline->message().isEmpty() ? QStringLiteral("reading…") : m_timeline->message());
  m_pages->setCurrentWidget(any ? static_cast<QWidget*>(m_plot) : m_hint);
  showCursor();
}

void TimelinePanel::showCursor() {
  const Cursor& cursor = m_document->cursor();
  m_plot->setCursor(cursor.rank(), cursor.iteration(),
                    m_timeline->valueAt(cursor.rank(), cursor.iteration()));
}

void TimelinePanel::goTo(core::Iteration iteration, std::optional<core::Rank> rank) {
  if (!m_document) return;
  Place place = m_document->cursor().place();
  place.iteration = iteration;
  if (rank) place.rank = *rank;
  m_document->cursor().moveTo(std::move(place));
}

QString TimelinePanel::command() const { return m_timeline ? m_timeline->command() : QString(); }

void TimelinePanel::takeFocus() { m_quantity->setFocus(Qt::ShortcutFocusReason); }

QJsonObject TimelinePanel::state() const {
  const QString quantity = m_timeline ? m_timeline->quantity().id : m_wanted;
  return {{kQuantity, quantity}, {kLog, m_log->isChecked()}};
}

void TimelinePanel::restore(const QJsonObject& state) {
  m_wanted = state.value(kQuantity).toString();
  m_log->setChecked(state.value(kLog).toBool());
  if (m_timeline && !m_wanted.isEmpty()) m_timeline->setQuantity(m_wanted);
}

bool TimelinePanel::settled() const { return !m_timeline || !m_timeline->reading(); }

void TimelinePanel::applyLook() {
  const graphview::Look look = graphview::lookOf(palette());
  m_plot->setLook(look);
  m_position->setLook(look);
  for (QLabel* label : {m_notice, m_hint, static_cast<QLabel*>(m_title)}) {
    QPalette muted = label->palette();
    muted.setColor(QPalette::WindowText, label == m_notice ? look.hint : look.mutedText);
    muted.setColor(QPalette::Base, look.background);
    label->setPalette(muted);
  }
}

void TimelinePanel::changeEvent(QEvent* event) {
  Panel::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) applyLook();
}

PanelDef timelinePanel() {
  return {.id = "timeline",
          .title = "Timeline",
          .area = Qt::BottomDockWidgetArea,
          .shortcut = (Qt::CTRL | Qt::Key_4).toCombined(),
          .make = [](QWidget* parent) -> Panel* { return new TimelinePanel(parent); },
          .keys = {{"Click", "go to the iteration, and to the rank of a line near by"},
                   {"Wheel, drag", "zoom, move along the iterations"},
                   {"Double click", "all iterations"}}};
}

}  // namespace msdbg::app
