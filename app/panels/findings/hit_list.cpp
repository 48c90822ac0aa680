#include "app/panels/findings/hit_list.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <QTreeView>
#include <algorithm>
#include <ranges>

namespace msdbg::app {

// Rows with air; the severity as a dot in its colour.
class SeverityDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  graphview::Look look;

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const QSize size = QStyledItemDelegate::sizeHint(option, index);
    return {index.column() == HitModel::kSeverity ? kDotColumn : size.width(), size.height() + 4};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    if (index.column() != HitModel::kSeverity) return;
    const bool fault = index.data(HitModel::kIsFaultRole).toBool();
    QRectF dot(0, 0, kDot, kDot);
    dot.moveCenter(QRectF(option.rect).center());
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(look.background, 1));
    painter->setBrush(fault ? look.fault : look.hint);
    if (fault)
      painter->drawEllipse(dot);
    else
      painter->drawRect(dot.adjusted(1, 1, -1, -1));  // told apart without colours too
    painter->restore();
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (index.column() == HitModel::kSeverity) option->text.clear();
    if (index.column() == HitModel::kCondition) option->textElideMode = Qt::ElideRight;
  }

 private:
  static constexpr int kDotColumn = 22, kDot = 9;
};

namespace {

constexpr int kLeastWhere = 100, kLeastCondition = 90;
constexpr int kRowsMeasured = 100;       // for the widths of columns
constexpr double kMostCondition = 0.45;  // of what the short columns leave
// What the tooltips tell too is left out where it has no room, the last one first.
constexpr int kOptional[] = {HitModel::kLine, HitModel::kActual};

QToolButton* filterButton(const char* name, const QString& toolTip, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setObjectName(QLatin1String(name));
  button->setCheckable(true);
  button->setChecked(true);
  button->setToolTip(toolTip);
  return button;
}

}  // namespace

HitList::HitList(QWidget* parent)
    : QWidget(parent),
      m_delegate(new SeverityDelegate(this)),
      m_faults(filterButton("faultsButton", QStringLiteral("Show the faults in the list, or not"), this)),
      m_hints(filterButton("hintsButton", QStringLiteral("Show the hints in the list, or not"), this)),
      m_view(new QTreeView(this)) {
  m_view->setObjectName(QStringLiteral("hitView"));
  m_view->setAccessibleName(QStringLiteral("Hits"));
  m_view->setRootIsDecorated(false);
  m_view->setUniformRowHeights(true);
  m_view->setSortingEnabled(true);
  m_view->setTextElideMode(Qt::ElideMiddle);
  m_view->setFrameShape(QFrame::NoFrame);
  m_view->setModel(&m_filter);
  m_view->sortByColumn(HitModel::kIteration,
                       Qt::AscendingOrder);  // stable: within one, the order of the report
  m_view->setItemDelegate(m_delegate);
  m_view->header()->setStretchLastSection(false);
  m_view->header()->setMinimumSectionSize(22);
  m_view->header()->setResizeContentsPrecision(kRowsMeasured);
  m_view->viewport()->installEventFilter(this);
  m_view->setContextMenuPolicy(Qt::CustomContextMenu);  // the keyboard's too, at the current hit
  connect(m_view, &QTreeView::customContextMenuRequested, this, &HitList::askMenu);

  auto* tools = new QHBoxLayout;
  tools->setContentsMargins(8, 2, 8, 2);
  tools->setSpacing(4);
  tools->addWidget(m_faults);
  tools->addWidget(m_hints);
  tools->addStretch(1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addLayout(tools);
  layout->addWidget(m_view, 1);

  for (QToolButton* button : {m_faults, m_hints})
    connect(button, &QToolButton::toggled, this,
            [this] { m_filter.setShown(m_faults->isChecked(), m_hints->isChecked()); });
  connect(m_view, &QTreeView::clicked, this, &HitList::choose);
  connect(m_view, &QTreeView::activated, this, &HitList::choose);
  refresh();
}

HitList::~HitList() = default;

void HitList::setFindings(const Findings* findings, std::shared_ptr<const RunFacts> facts) {
  m_filter.setSourceModel(nullptr);
  m_model.reset();
  m_findings = findings;
  if (findings) {
    m_model = std::make_unique<HitModel>(*findings, std::move(facts));
    m_filter.setSourceModel(m_model.get());
    connect(m_model.get(), &QAbstractItemModel::modelReset, this, &HitList::refresh);
  }
  refresh();
}

void HitList::setFacts(std::shared_ptr<const RunFacts> facts) {
  if (!m_model) return;
  m_model->setFacts(std::move(facts));
  fitColumns();
}

void HitList::refresh() {
  const Findings::Counts counts = m_findings ? m_findings->counts() : Findings::Counts();
  m_faults->setText(QStringLiteral("Faults %1").arg(counts.faults));
  m_hints->setText(QStringLiteral("Hints %1").arg(counts.hints));
  fitColumns();
}

// The short columns as wide as they need to be; the condition and the place share what is left.
void HitList::fitColumns() {
  if (!m_model) return;
  const int width = m_view->viewport()->width();
  int used = 0;
  for (int column = 0; column < HitModel::kColumns; ++column) {
    m_view->setColumnHidden(column, column == HitModel::kStep && !m_model->hasSteps());
    m_view->resizeColumnToContents(column);
    if (column != HitModel::kWhere && column != HitModel::kCondition) used += m_view->columnWidth(column);
  }
  for (const int column : kOptional | std::views::reverse) {
    if (used + kLeastCondition + kLeastWhere <= width) break;
    used -= m_view->columnWidth(column);
    m_view->setColumnHidden(column, true);
  }
  const int most = std::max(kLeastCondition, static_cast<int>((width - used) * kMostCondition));
  const int condition = std::min(m_view->columnWidth(HitModel::kCondition), most);
  m_view->setColumnWidth(HitModel::kCondition, condition);
  m_view->setColumnWidth(HitModel::kWhere, std::max(kLeastWhere, width - used - condition));
}

bool HitList::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::Resize || event->type() == QEvent::FontChange) fitColumns();
  return QWidget::eventFilter(object, event);
}

void HitList::setLook(const graphview::Look& look) {
  m_delegate->look = look;
  m_view->viewport()->update();
}

void HitList::choose(const QModelIndex& index) {
  if (index.isValid()) emit hitChosen(static_cast<std::size_t>(m_filter.mapToSource(index).row()));
}

void HitList::askMenu(const QPoint& at) {
  const QModelIndex index = m_view->indexAt(at).isValid() ? m_view->indexAt(at) : m_view->currentIndex();
  if (!index.isValid()) return;
  const QPoint place = m_view->indexAt(at).isValid() ? at : m_view->visualRect(index).center();
  emit menuAsked(static_cast<std::size_t>(m_filter.mapToSource(index).row()),
                 m_view->viewport()->mapToGlobal(place));
}

void HitList::follow(const Place& place) {
  if (!m_findings) return;
  const auto isHere = [&](const watch::Hit& hit) {
    return hit.rank == place.rank && hit.iteration == place.iteration && hit.tensor == place.tensor;
  };
  const QModelIndex shown = m_filter.mapToSource(m_view->currentIndex());
  const auto& hits = m_findings->hits();
  if (shown.isValid() && isHere(hits[static_cast<std::size_t>(shown.row())]))
    return;  // another of this place
  const auto here = std::ranges::find_if(hits, isHere);
  const QModelIndex index =
      here == hits.end() ? QModelIndex()
                         : m_filter.mapFromSource(m_model->index(static_cast<int>(here - hits.begin()), 0));
  m_view->setCurrentIndex(index);
  if (!index.isValid()) m_view->clearSelection();
}

bool HitList::faultsShown() const { return m_faults->isChecked(); }
bool HitList::hintsShown() const { return m_hints->isChecked(); }

void HitList::setShown(bool faults, bool hints) {
  m_faults->setChecked(faults);
  m_hints->setChecked(hints);
}

}  // namespace msdbg::app
