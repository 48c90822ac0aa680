#include "app/panels/tensor/values_view.h"

#include <QHeaderView>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QResizeEvent>
#include <QScrollBar>
#include <QSplitter>
#include <QStackedWidget>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/panels/elided_label.h"
#include "core_engine/base/text.h"
#include "graph_view/scene/look.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

constexpr const char* kSideNames[] = {"A", "B", "Difference"};
constexpr int kEqualShare = 1000;  // more than there is: the splitter makes it fit

// Colours what is not finite; zeros step back.
class CellDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const QVariant value = index.data(TensorTableModel::kClassRole);
    const graphview::Look look = graphview::lookOf(option->palette);
    using Class = TensorTableModel::Class;
    const auto kind = static_cast<Class>(value.toInt());
    if (!value.isValid() || kind == Class::kZero) {
      option->palette.setColor(QPalette::Text, look.mutedText);
    } else if (kind != Class::kFinite) {
      QColor mark = look.health(kind == Class::kNan ? graphview::Health::kNan : graphview::Health::kInf);
      option->palette.setColor(QPalette::Text, mark);
      option->font.setBold(true);
      mark.setAlpha(look.dark ? 60 : 35);
      option->backgroundBrush = mark;
    }
  }
};

QTableView* makeTable(Side side) {
  auto* table = new QTableView;
  table->setObjectName(QStringLiteral("values") + kSideNames[indexOf(side)]);
  table->setAccessibleName(QObject::tr("Values of %1").arg(kSideNames[indexOf(side)]));
  table->setItemDelegate(new CellDelegate(table));
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table->setWordWrap(false);
  table->setMinimumHeight(48);
  table->setTabKeyNavigation(false);
  table->setCornerButtonEnabled(false);
  const QFontMetrics metrics = table->fontMetrics();
  for (QHeaderView* header : {table->horizontalHeader(), table->verticalHeader()}) {
    header->setSectionResizeMode(QHeaderView::Fixed);
    header->setHighlightSections(true);
    header->setMinimumSectionSize(16);
  }
  table->horizontalHeader()->setDefaultSectionSize(metrics.horizontalAdvance("-0.00000e-00") + 12);
  table->verticalHeader()->setDefaultSectionSize(metrics.height() + 6);
  return table;
}

QString numberText(double value) { return QString::fromStdString(core::formatShort(value)); }

}  // namespace

ValuesView::ValuesView(QWidget* parent) : QWidget(parent) {
  m_splitter = new QSplitter;
  m_splitter->setChildrenCollapsible(false);
  for (const Side side : kSides) makePane(side);
  linkScrolling();
  m_cell = new ElidedLabel;
  m_cell->setObjectName("cellValue");
  m_cell->setTextInteractionFlags(Qt::NoTextInteraction);
  m_cut = new ElidedLabel;
  m_cut->setObjectName("valuesCut");
  m_nonFiniteTitle = new ElidedLabel;
  m_nonFiniteTitle->setObjectName("nonFiniteTitle");
  m_nonFinite = new QListWidget;
  m_nonFinite->setObjectName("nonFinite");
  m_nonFinite->setAccessibleName(tr("First elements that are not finite"));
  m_nonFinite->setUniformItemSizes(true);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 6, 0, 0);
  layout->setSpacing(4);
  layout->addWidget(m_splitter, 1);
  layout->addWidget(m_cut);
  layout->addWidget(m_cell);
  layout->addWidget(m_nonFiniteTitle);
  layout->addWidget(m_nonFinite);
  const auto go = [this](QListWidgetItem* item) {
    if (m_presenter && item) m_presenter->showElement(item->data(Qt::UserRole).toLongLong());
  };
  connect(m_nonFinite, &QListWidget::itemClicked, this, go);
  connect(m_nonFinite, &QListWidget::itemActivated, this, go);
  refresh();
}

ValuesView::~ValuesView() {
  for (Pane& pane : m_panes) pane.table->setModel(nullptr);  // models die before tables
}

void ValuesView::makePane(Side side) {
  Pane& pane = m_panes[indexOf(side)];
  pane.widget = new QWidget;
  pane.title = new ElidedLabel;
  pane.title->setObjectName(QStringLiteral("title") + kSideNames[indexOf(side)]);
  pane.table = makeTable(side);
  makeMissing(side);
  pane.stack = new QStackedWidget;
  pane.stack->addWidget(pane.table);
  pane.stack->addWidget(pane.missing);
  pane.table->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(pane.table, &QWidget::customContextMenuRequested, this, [this, side](const QPoint& at) {
    if (m_presenter) emit menuWanted(side, table(side)->viewport()->mapToGlobal(at));
  });
  auto* layout = new QVBoxLayout(pane.widget);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(pane.title);
  layout->addWidget(pane.stack, 1);
  m_splitter->addWidget(pane.widget);
}

Side ValuesView::sideInUse() const {
  for (const Side side : kSides)
    if (m_panes[indexOf(side)].table->hasFocus()) return side;
  return Side::kA;
}

void ValuesView::makeMissing(Side side) {
  Pane& pane = m_panes[indexOf(side)];
  pane.missing = new QWidget;
  pane.message = new QLabel;
  pane.message->setObjectName(QStringLiteral("message") + kSideNames[indexOf(side)]);
  pane.message->setWordWrap(true);
  pane.message->setTextFormat(Qt::PlainText);
  pane.message->setAlignment(Qt::AlignCenter);
  pane.message->setMargin(4);
  pane.message->setTextInteractionFlags(Qt::TextSelectableByMouse);
  pane.nearest = new QPushButton;
  pane.nearest->setObjectName(QStringLiteral("nearest") + kSideNames[indexOf(side)]);
  pane.compute = new QPushButton;
  pane.compute->setObjectName(QStringLiteral("compute") + kSideNames[indexOf(side)]);
  pane.compute->setToolTip(tr("From the nearest checkpoint, bit for bit; in a process of its own"));
  pane.progress = new QLabel;
  pane.progress->setObjectName(QStringLiteral("progress") + kSideNames[indexOf(side)]);
  pane.progress->setWordWrap(true);
  pane.progress->setTextFormat(Qt::PlainText);
  pane.progress->setAlignment(Qt::AlignCenter);
  pane.statistics = new QPushButton(tr("Statistics"));
  pane.statistics->setObjectName(QStringLiteral("statistics") + kSideNames[indexOf(side)]);
  pane.statistics->setToolTip(tr("What was recorded of the value itself"));
  auto* buttons = new QHBoxLayout;
  buttons->addStretch(1);
  buttons->addWidget(pane.compute);
  buttons->addWidget(pane.nearest);
  buttons->addWidget(pane.statistics);
  buttons->addStretch(1);
  auto* layout = new QVBoxLayout(pane.missing);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addStretch(1);
  layout->addWidget(pane.message);
  layout->addWidget(pane.progress);
  layout->addLayout(buttons);
  layout->addStretch(1);
  connect(pane.compute, &QPushButton::clicked, this, [this, side] {
    if (!m_presenter) return;
    m_presenter->computing() == side ? m_presenter->cancelComputing() : m_presenter->compute(side);
  });
  connect(pane.nearest, &QPushButton::clicked, this, [this, side] {
    if (m_presenter) m_presenter->goToNearestValue(side);
  });
  connect(pane.statistics, &QPushButton::clicked, this, &ValuesView::statisticsWanted);
}

void ValuesView::showMissing(Side side) {
  Pane& pane = m_panes[indexOf(side)];
  const QString message = m_presenter->message(side);
  pane.message->setText(message);
  const std::optional<core::Iteration> nearest = m_presenter->nearestValue(side);
  pane.nearest->setVisible(nearest.has_value());
  if (nearest)
    pane.nearest->setText((side == Side::kA ? tr("Go to iteration %1") : tr("Compare with iteration %1"))
                              .arg(m_presenter->facts().iterationText(*nearest)));
  showComputing(side);
  const ValueAnswer* answer = m_presenter->answer();
  const ValueAnswer::Value* value = !answer                         ? nullptr
                                    : side == Side::kA              ? &answer->a
                                    : side == Side::kB && answer->b ? &*answer->b
                                                                    : nullptr;
  pane.statistics->setVisible(value && value->statistics);
  pane.stack->setCurrentWidget(message.isEmpty() ? static_cast<QWidget*>(pane.table) : pane.missing);
}

void ValuesView::showComputing(Side side) {
  Pane& pane = m_panes[indexOf(side)];
  const std::optional<replay::RecomputeWay> way = m_presenter->wayToCompute(side);
  const bool running = m_presenter->computing() == side;
  pane.compute->setVisible(way.has_value());
  pane.progress->setText(way ? m_presenter->computingText() : QString());
  pane.progress->setVisible(!pane.progress->text().isEmpty());
  if (!way) return;
  const QString seconds = way->seconds >= 1 ? tr(", about %1 s").arg(way->seconds, 0, 'f', 0) : QString();
  pane.compute->setText(
      running ? tr("Cancel")
              : tr("Compute again (%1%2)")
                    .arg(QString::fromStdString(replay::counted(way->iterations, "iteration")), seconds));
}

// Tables side by side show the same place.
void ValuesView::linkScrolling() {
  for (const Pane& from : m_panes) {
    for (const Pane& to : m_panes) {
      if (&from == &to) continue;
      connect(from.table->horizontalScrollBar(), &QScrollBar::valueChanged, to.table->horizontalScrollBar(),
              &QScrollBar::setValue);
      connect(from.table->verticalScrollBar(), &QScrollBar::valueChanged, to.table->verticalScrollBar(),
              &QScrollBar::setValue);
    }
  }
}

void ValuesView::setPresenter(TensorPresenter* presenter) {
  if (m_presenter) m_presenter->disconnect(this);
  m_presenter = presenter;
  for (const Side side : kSides) {
    Pane& pane = m_panes[indexOf(side)];
    pane.table->setModel(nullptr);
    pane.model = presenter ? std::make_unique<TensorTableModel>(*presenter, side) : nullptr;
    if (!presenter) continue;
    pane.table->setModel(pane.model.get());
    connect(pane.table->selectionModel(), &QItemSelectionModel::currentChanged, this,
            [this](const QModelIndex& now) {
              if (m_presenter && now.isValid()) m_presenter->setCell(now.row(), now.column());
            });
  }
  if (presenter) {
    connect(presenter, &TensorPresenter::answered, this, &ValuesView::refresh);
    connect(presenter, &TensorPresenter::placeChanged, this, &ValuesView::refresh);
    connect(presenter, &TensorPresenter::computingChanged, this, [this] {
      for (const Side side : kSides) showComputing(side);
    });
    connect(presenter, &TensorPresenter::shownChanged, this, &ValuesView::refresh);
    connect(presenter, &TensorPresenter::cellChanged, this, &ValuesView::showCell);
  }
  refresh();
}

void ValuesView::refresh() {
  const bool comparing = m_presenter && m_presenter->comparing();
  for (const Side side : kSides) {
    Pane& pane = m_panes[indexOf(side)];
    pane.widget->setVisible(m_presenter ? m_presenter->shown(side) : side == Side::kA);
    pane.title->setVisible(comparing);
    if (!m_presenter) continue;
    pane.title->setLine(m_presenter->sideTitle(side), m_presenter->placeText(side));
    showMissing(side);
  }
  const int shown = static_cast<int>(
      std::ranges::count(m_panes, true, [](const Pane& pane) { return !pane.widget->isHidden(); }));
  if (std::exchange(m_shownPanes, shown) != shown || m_numbersWidth != numbersWidth()) arrange();
  const bool cut = m_presenter && m_panes[indexOf(Side::kA)].model->cut();
  m_cut->setVisible(cut);
  if (cut)
    m_cut->setLine(tr("Only the first %1 rows or columns are listed; the picture and the export have all.")
                       .arg(QString::fromStdString(replay::groupedNumber(TensorTableModel::kMostSections))));
  showNonFinite();
  showCell();
}

void ValuesView::showCell() {
  const std::optional<std::int64_t> cell = m_presenter ? m_presenter->cell() : std::nullopt;
  m_cell->setVisible(cell && m_presenter->available(Side::kA));
  if (!cell) return;
  const SlicePlane& plane = m_presenter->plane();
  const std::int64_t row = plane.rowOf(*cell), column = plane.columnOf(*cell);
  for (Pane& pane : m_panes) {
    if (row >= pane.model->rowCount() || column >= pane.model->columnCount()) continue;
    const QModelIndex index = pane.model->index(static_cast<int>(row), static_cast<int>(column));
    if (pane.table->currentIndex() == index) continue;
    pane.table->setCurrentIndex(index);
    pane.table->scrollTo(index);
  }
  QString line = QString::fromStdString("[" + replay::indexText(plane.shape(), *cell) + "]   ") +
                 m_presenter->cellText(Side::kA);
  if (m_presenter->available(Side::kB)) line += "   B " + m_presenter->cellText(Side::kB);
  if (m_presenter->available(Side::kDifference))
    line += "   A − B " + m_presenter->cellText(Side::kDifference);
  m_cell->setLine(line);
}

void ValuesView::showNonFinite() {
  const ValueAnswer* answer = m_presenter ? m_presenter->answer() : nullptr;
  const replay::NonFinite found = answer ? answer->nonFinite : replay::NonFinite();
  m_nonFinite->setVisible(found.count() > 0);
  m_nonFiniteTitle->setVisible(found.count() > 0);
  m_nonFinite->clear();
  if (found.count() == 0) return;
  const auto listed = static_cast<std::int64_t>(found.first.size());
  m_nonFiniteTitle->setLine(
      listed == found.count()
          ? tr("Not finite: %1").arg(QString::fromStdString(replay::counted(listed, "element")))
          : tr("Not finite: the first %1 of %2")
                .arg(listed)
                .arg(QString::fromStdString(replay::groupedNumber(found.count()))));
  for (const replay::NonFinite::Element& element : found.first) {
    auto* item = new QListWidgetItem(
        QString::fromStdString("[" + replay::indexText(answer->a.shape, element.flatIndex) + "]   ") +
            numberText(element.value),
        m_nonFinite);
    item->setData(Qt::UserRole, static_cast<qlonglong>(element.flatIndex));
  }
  const int most = height() > 300 ? 5 : m_presenter->comparing() ? 1 : 2;
  const int lines = std::min<int>(m_nonFinite->count(), most);
  m_nonFinite->setFixedHeight(lines * m_nonFinite->sizeHintForRow(0) + 2 * m_nonFinite->frameWidth());
}

// The tables show the same place, so that one of them has the numbers of the rows, and one the bar to scroll
// them. Side by side is what one reads best: below each other only where not even a column has room.
void ValuesView::arrange() {
  std::vector<Pane*> shown;
  for (Pane& pane : m_panes)
    if (!pane.widget->isHidden()) shown.push_back(&pane);
  if (shown.empty()) return;
  const int count = static_cast<int>(shown.size()), bar = style()->pixelMetric(QStyle::PM_ScrollBarExtent);
  m_numbersWidth = numbersWidth();
  const int taken = m_numbersWidth + bar + (count - 1) * m_splitter->handleWidth();
  const int room = (width() - taken) / count;
  const int column = shown.front()->table->horizontalHeader()->defaultSectionSize();
  const bool beside = room >= column || width() > height() * 3 / 2;
  m_splitter->setOrientation(beside ? Qt::Horizontal : Qt::Vertical);
  QList<int> sizes;
  for (Pane& pane : m_panes) {
    const bool first = &pane == shown.front(), last = &pane == shown.back();
    pane.table->verticalHeader()->setVisible(first || !beside);
    pane.table->horizontalHeader()->setVisible(first || beside);
    pane.table->setVerticalScrollBarPolicy(last || !beside ? Qt::ScrollBarAsNeeded : Qt::ScrollBarAlwaysOff);
    const int extra = (first ? m_numbersWidth : 0) + (last ? bar : 0);
    sizes << (pane.widget->isHidden() ? 0 : beside ? room + extra : kEqualShare);
  }
  m_splitter->setSizes(sizes);
}

int ValuesView::numbersWidth() const {
  return m_panes[indexOf(Side::kA)].table->verticalHeader()->sizeHint().width();
}

void ValuesView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

}  // namespace msdbg::app
