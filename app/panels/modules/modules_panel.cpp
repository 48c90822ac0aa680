#include "app/panels/modules/modules_panel.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "app/panels/builtin_panels.h"
#include "app/panels/elided_label.h"
#include "app/panels/modules/module_delegate.h"
#include "app/panels/place_menu.h"

namespace msdbg::app {
namespace {

constexpr int kMargin = 8, kLeastName = 150;
constexpr int kRowsMeasured = 100;  // for the widths of columns
constexpr int kMostExpanded = 60;   // rows: more are folded at first
// What the tooltips tell too is left out where it has no room, in this order.
constexpr int kOptional[] = {ModuleModel::kDevice, ModuleModel::kType, ModuleModel::kClass};

}  // namespace

ModulesPanel::ModulesPanel(QWidget* parent)
    : Panel(parent),
      m_filter(new QLineEdit(this)),
      m_tree(new QTreeView(this)),
      m_summary(new ElidedLabel(this)),
      m_hint(new QLabel(this)) {
  makeFilter();
  makeTree();
  m_summary->setObjectName("moduleSummary");
  m_hint->setObjectName("moduleHint");
  m_hint->setWordWrap(true);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->setSpacing(kMargin);
  layout->addWidget(m_filter);
  layout->addWidget(m_hint);
  layout->addWidget(m_tree, 1);
  layout->addWidget(m_summary);
  layout->addStretch(0);  // below the hint, while there is no tree
  setDocument(nullptr);
}

ModulesPanel::~ModulesPanel() { m_shown.setSourceModel(nullptr); }

void ModulesPanel::makeFilter() {
  m_filter->setObjectName("moduleFilter");
  m_filter->setAccessibleName(tr("Show only modules and parameters that hold this"));
  m_filter->setPlaceholderText(tr("attn, Linear, weight, bfloat16, cuda:1"));
  m_filter->setToolTip(
      tr("words of a name, a class, a type or a device: only what has all of them is shown\n"
         "Enter selects the first one, Down goes to the tree, Esc clears"));
  m_filter->setClearButtonEnabled(true);
  m_filter->installEventFilter(this);
  connect(m_filter, &QLineEdit::textChanged, this, &ModulesPanel::filter);
}

void ModulesPanel::makeTree() {
  m_tree->setObjectName("moduleTree");
  m_tree->setAccessibleName(tr("Modules"));
  m_tree->setUniformRowHeights(true);
  m_tree->setAlternatingRowColors(true);
  m_tree->setAllColumnsShowFocus(true);
  m_tree->setTextElideMode(Qt::ElideMiddle);
  m_tree->setItemDelegate(new ModuleDelegate(m_tree));
  m_tree->setModel(&m_shown);
  m_tree->header()->setResizeContentsPrecision(kRowsMeasured);
  m_tree->header()->setStretchLastSection(false);
  m_tree->setContextMenuPolicy(Qt::CustomContextMenu);
  m_tree->installEventFilter(this);
  connect(m_tree, &QTreeView::customContextMenuRequested, this, &ModulesPanel::showMenu);
  connect(m_tree, &QTreeView::activated, this, &ModulesPanel::choose);
  connect(m_tree, &QTreeView::clicked, this, &ModulesPanel::choose);
  connect(m_tree->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            if (!m_following) choose(index);
          });
  connect(m_tree, &QTreeView::expanded, this, &ModulesPanel::fitColumns);
}

void ModulesPanel::setDocument(Document* document) {
  m_following = true;  // a model that goes away changes what is current
  m_shown.setSourceModel(nullptr);
  m_presenter.reset();
  m_document = document;
  m_filter->clear();
  if (document) {
    m_presenter = std::make_unique<ModulesPresenter>(*document);
    m_shown.setSourceModel(&m_presenter->model());
    connect(m_presenter.get(), &ModulesPresenter::selectionChanged, this, &ModulesPanel::showSelection);
    expandAtFirst();
  }
  m_following = false;
  const bool any = document && m_presenter->model().size() > 0;
  m_filter->setEnabled(any);
  m_tree->setVisible(any);
  m_summary->setVisible(any);
  m_hint->setVisible(!any);
  m_hint->setText(document ? tr("This run has no modules: nothing is known of its scopes or parameters.")
                           : tr("Open a run to see its modules."));
  if (!any) return;
  m_summary->setLine(m_presenter->summary());
  fitColumns();
  showSelection();
}

void ModulesPanel::expandAtFirst() {
  if (m_presenter->model().size() <= kMostExpanded)
    m_tree->expandAll();
  else
    m_tree->expandToDepth(0);
}

void ModulesPanel::filter(const QString& text) {
  m_following = true;  // rows that go away choose nothing
  m_shown.setText(text);
  if (m_presenter) m_shown.empty() ? expandAtFirst() : m_tree->expandAll();
  m_following = false;
  if (m_presenter) showSelection();
}

void ModulesPanel::showSelection() {
  const QModelIndex row = m_shown.mapFromSource(m_presenter->currentRow());
  m_following = true;
  if (!row.isValid())
    m_tree->selectionModel()->clear();
  else if (row != m_tree->currentIndex().siblingAtColumn(0) || !m_tree->selectionModel()->isSelected(row))
    m_tree->setCurrentIndex(row);
  m_following = false;
}

void ModulesPanel::choose(const QModelIndex& index) {
  if (m_presenter && index.isValid()) m_presenter->select(m_shown.mapToSource(index.siblingAtColumn(0)));
}

void ModulesPanel::showMenu(const QPoint& at) {
  const QModelIndex index = m_tree->indexAt(at).isValid() ? m_tree->indexAt(at) : m_tree->currentIndex();
  if (!m_presenter || !index.isValid()) return;
  QMenu menu;
  addPlaceActions(menu, *this, *m_document,
                  m_presenter->placeOf(m_shown.mapToSource(index.siblingAtColumn(0))));
  menu.exec(m_tree->viewport()->mapToGlobal(at));
}

void ModulesPanel::fitColumns() {
  if (!m_presenter || m_presenter->model().size() == 0) return;
  const ModuleModel& model = m_presenter->model();
  const int width = m_tree->viewport()->width();
  int used = 0;
  for (int column = 0; column < ModuleModel::kColumns; ++column) {
    const bool nothing = (column == ModuleModel::kDevice && !model.anyDevice()) ||
                         (column == ModuleModel::kClass && !model.anyClass());
    m_tree->setColumnHidden(column, nothing);
    m_tree->resizeColumnToContents(column);
    used += m_tree->columnWidth(column);  // 0: hidden
  }
  const int name = m_tree->columnWidth(ModuleModel::kName);
  for (const int column : kOptional) {
    // For the class the names are cut, as far as they can still be told apart.
    const int needed = column == ModuleModel::kClass ? used - std::max(0, name - kLeastName) : used;
    if (needed <= width) break;
    used -= m_tree->columnWidth(column);
    m_tree->setColumnHidden(column, true);
  }
  m_tree->setColumnWidth(ModuleModel::kName, std::max(kLeastName, name + width - used));
}

void ModulesPanel::resizeEvent(QResizeEvent* event) {
  Panel::resizeEvent(event);
  fitColumns();
}

void ModulesPanel::showEvent(QShowEvent* event) {
  Panel::showEvent(event);
  fitColumns();
}

bool ModulesPanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return Panel::eventFilter(watched, event);
  const int key = static_cast<QKeyEvent*>(event)->key();
  if (watched == m_filter && filterKey(key)) return true;
  if (watched == m_tree && treeKey(key)) return true;
  return Panel::eventFilter(watched, event);
}

bool ModulesPanel::filterKey(int key) {
  if (!m_presenter) return false;
  switch (key) {
    case Qt::Key_Escape:
      if (m_filter->text().isEmpty()) return false;
      m_filter->clear();
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Down: {
      // The first that has the words itself: what is around it is shown too.
      QModelIndex first = m_shown.index(0, 0);
      while (first.isValid() && !m_shown.empty() && !m_shown.holds(first)) first = m_tree->indexBelow(first);
      if (!first.isValid()) return true;
      if (key == Qt::Key_Down) m_tree->setFocus();
      m_tree->setCurrentIndex(first);
      return true;
    }
    default:
      return false;
  }
}

bool ModulesPanel::treeKey(int key) {
  const bool leave = key == Qt::Key_Escape ||
                     (key == Qt::Key_Up && m_tree->currentIndex().siblingAtColumn(0) == m_shown.index(0, 0));
  if (leave) takeFocus();
  return leave;
}

QString ModulesPanel::command() const {
  if (!m_presenter || m_presenter->model().size() == 0) return {};
  return QStringLiteral("msdbg info %1 --modules").arg(m_document->runArgument());
}

void ModulesPanel::takeFocus() {
  m_filter->setFocus(Qt::ShortcutFocusReason);
  m_filter->selectAll();
}

PanelDef modulesPanel() {
  return {.id = "modules",
          .title = "Modules",
          .area = Qt::LeftDockWidgetArea,
          .shortcut = (Qt::CTRL | Qt::Key_7).toCombined(),
          .make = [](QWidget* parent) -> Panel* { return new ModulesPanel(parent); },
          .keys = {{"Up, Down, Left, Right", "walk in the tree: what is there is selected everywhere"},
                   {"Enter", "in the filter: select the first that fits"},
                   {"Down", "from the filter into the tree"},
                   {"Esc", "clear the filter, back to it"}}};
}

}  // namespace msdbg::app
