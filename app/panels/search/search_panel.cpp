#include "app/panels/search/search_panel.h"

#include <QCompleter>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QJsonArray>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QStringListModel>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/panels/builtin_panels.h"
#include "app/panels/search/name_delegate.h"
#include "app/panels/search/phase_delegate.h"

namespace msdbg::app {
namespace {

constexpr int kMargin = 8;
constexpr int kMostHistory = 20;
constexpr int kRowsMeasured = 100;  // for the widths of columns
constexpr int kLeastName = 100;     // pixels
// What the tooltips or the names tell too is left out where it has no room, in this order.
constexpr int kOptional[] = {SearchModel::kOutput, SearchModel::kType, SearchModel::kPhase};

}  // namespace

SearchPanel::SearchPanel(QWidget* parent)
    : Panel(parent),
      m_field(new QLineEdit),
      m_history(new QStringListModel(this)),
      m_completer(new QCompleter(m_history, this)),
      m_results(new QTreeView),
      m_message(new QLabel),
      m_selectAll(new QPushButton(tr("Select &all"))) {
  makeField();
  makeResults();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->setSpacing(kMargin);
  layout->addWidget(m_field);
  layout->addWidget(makeAnswer());
  layout->addWidget(m_results, 1);
  layout->addStretch(0);  // below the answer, while there are no results
  setDocument(nullptr);
}

SearchPanel::~SearchPanel() = default;

void SearchPanel::makeField() {
  m_field->setObjectName("searchField");
  m_field->setAccessibleName(tr("Search for a line, a name or an operator type"));
  m_field->setPlaceholderText(tr("alexnet.cpp:52, conv3, ConvGradWeight, *bias*"));
  m_field->setToolTip(
      tr("FILE:LINE or FILE:FIRST-LAST: the nodes of these lines\n"
         "a name, a part of one, a pattern with *, or an operator type: nodes\n"
         "Enter selects the first result, Down goes to the results (or to earlier searches), Esc clears"));
  m_field->setClearButtonEnabled(true);
  m_field->installEventFilter(this);
  m_completer->setWidget(m_field);
  m_completer->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
  connect(m_field, &QLineEdit::textEdited, this, [this](const QString& text) {
    if (m_presenter) m_presenter->type(text);
  });
  // The clear button edits nothing, as Qt sees it.
  connect(m_field, &QLineEdit::textChanged, this, [this](const QString& text) {
    if (m_presenter && text.isEmpty()) m_presenter->search({});
  });
  connect(m_completer, qOverload<const QString&>(&QCompleter::activated), this, &SearchPanel::search);
}

void SearchPanel::makeResults() {
  m_results->setObjectName("searchResults");
  m_results->setAccessibleName(tr("Nodes found"));
  m_results->setRootIsDecorated(false);
  m_results->setUniformRowHeights(true);
  m_results->setAlternatingRowColors(true);
  m_results->setAllColumnsShowFocus(true);
  m_results->setTextElideMode(Qt::ElideLeft);  // of a line, the number says most
  m_results->setItemDelegateForColumn(SearchModel::kNode, new NameDelegate(m_results));
  m_results->setItemDelegateForColumn(SearchModel::kPhase, new PhaseDelegate(m_results));
  m_results->header()->setResizeContentsPrecision(kRowsMeasured);
  m_results->installEventFilter(this);
  connect(m_results, &QTreeView::activated, this, [this](const QModelIndex& index) { choose(index.row()); });
  connect(m_results, &QTreeView::clicked, this, [this](const QModelIndex& index) { choose(index.row()); });
}

QWidget* SearchPanel::makeAnswer() {
  auto* answer = new QWidget;
  m_message->setObjectName("searchMessage");
  m_message->setWordWrap(true);
  m_message->setTextFormat(Qt::PlainText);
  m_message->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_selectAll->setObjectName("searchSelectAll");
  m_selectAll->setToolTip(tr("Select all nodes found, in every panel"));
  auto* layout = new QHBoxLayout(answer);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_message, 1);
  layout->addWidget(m_selectAll, 0, Qt::AlignTop);
  connect(m_selectAll, &QPushButton::clicked, this, [this] {
    remember();
    m_presenter->selectAll();
  });
  return answer;
}

void SearchPanel::setDocument(Document* document) {
  m_results->setModel(nullptr);
  m_presenter.reset();
  m_document = document;
  const QSignalBlocker blocked(m_field);
  m_field->clear();
  m_field->setEnabled(document != nullptr);
  if (document) {
    m_presenter = std::make_unique<SearchPresenter>(*document);
    m_results->setModel(&m_presenter->results());
    m_results->header()->moveSection(m_results->header()->visualIndex(SearchModel::kLine), 1);
    connect(m_presenter.get(), &SearchPresenter::changed, this, &SearchPanel::showResults);
    connect(m_presenter.get(), &SearchPresenter::selectionChanged, this, &SearchPanel::showSelection);
    connect(m_results->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& index) {
              if (!m_following) choose(index.row());
            });
  }
  m_enterWaits = false;
  showResults();
}

void SearchPanel::showResults() {
  const bool any = m_presenter && m_presenter->results().rowCount() > 0;
  m_selectAll->setVisible(any);
  m_results->setVisible(any);
  m_message->setText(!m_presenter ? tr("Open a run to search in it.")
                     : m_presenter->query().isEmpty()
                         ? tr("Finds lines of the source, names of nodes and tensors, and operator types.")
                         : m_presenter->message());
  showSelection();
  if (!m_presenter || m_presenter->searching()) return;
  if (any) fitColumns();
  if (std::exchange(m_enterWaits, false)) choose(0);
}

// The selected node is also highlighted here, which must not select it again: there may be more of them.
void SearchPanel::showSelection() {
  if (!m_presenter) return;
  const int row = m_presenter->currentRow();
  m_following = true;
  if (row < 0)
    m_results->selectionModel()->clear();
  else if (row != m_results->currentIndex().row())
    m_results->setCurrentIndex(m_presenter->results().index(row, 0));
  m_following = false;
}

void SearchPanel::fitColumns() {
  const int width = m_results->viewport()->width();
  int used = 0;
  m_results->header()->setStretchLastSection(false);  // stretched, it does not tell what it needs
  for (int column = 0; column < SearchModel::kColumns; ++column) {
    m_results->setColumnHidden(column, false);
    m_results->resizeColumnToContents(column);
    used += m_results->columnWidth(column);
  }
  for (const int column : kOptional) {
    if (used <= width) break;
    used -= m_results->columnWidth(column);
    m_results->setColumnHidden(column, true);
  }
  const int name = m_results->columnWidth(SearchModel::kNode);
  if (used > width)
    m_results->setColumnWidth(SearchModel::kNode, std::max(kLeastName, name - (used - width)));
  m_results->header()->setStretchLastSection(true);
}

void SearchPanel::resizeEvent(QResizeEvent* event) {
  Panel::resizeEvent(event);
  if (m_results->isVisible()) fitColumns();
}

void SearchPanel::choose(int row) {
  if (!m_presenter || row < 0 || row >= m_presenter->results().rowCount()) return;
  remember();
  m_presenter->select(row);
}

void SearchPanel::remember() {
  const QString query = m_presenter->query();
  QStringList queries = m_history->stringList();
  if (query.isEmpty() || (!queries.isEmpty() && queries.front() == query)) return;
  queries.removeAll(query);
  queries.prepend(query);
  m_history->setStringList(queries.mid(0, kMostHistory));
}

void SearchPanel::search(const QString& query) {
  if (!m_presenter) return;
  m_field->setText(query);
  m_presenter->search(query);
}

bool SearchPanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return Panel::eventFilter(watched, event);
  const int key = static_cast<QKeyEvent*>(event)->key();
  if (watched == m_field && fieldKey(key)) return true;
  if (watched == m_results && resultsKey(key)) return true;
  return Panel::eventFilter(watched, event);
}

bool SearchPanel::fieldKey(int key) {
  if (!m_presenter) return false;
  switch (key) {
    case Qt::Key_Escape:
      if (m_field->text().isEmpty()) return false;
      m_field->clear();
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      m_enterWaits =
          m_presenter->searching();  // typed faster than the search: its first result, when it is there
      if (m_enterWaits)
        m_presenter->search(m_field->text());
      else
        choose(0);
      return true;
    case Qt::Key_Down:
      if (m_field->text().isEmpty() && m_history->rowCount() > 0)
        m_completer->complete();
      else
        enterResults();
      return true;
    default:
      return false;
  }
}

void SearchPanel::enterResults() {
  if (m_presenter->results().rowCount() == 0) return;
  m_results->setFocus();
  if (!m_results->currentIndex().isValid()) m_results->setCurrentIndex(m_presenter->results().index(0, 0));
}

bool SearchPanel::resultsKey(int key) {
  const bool leave = key == Qt::Key_Escape || (key == Qt::Key_Up && m_results->currentIndex().row() <= 0);
  if (leave) takeFocus();
  return leave;
}

QString SearchPanel::command() const {
  if (!m_presenter || m_presenter->query().isEmpty()) return {};
  return QStringLiteral("msdbg search %1 %2")
      .arg(m_document->runArgument(), shellQuoted(m_presenter->query()));
}

void SearchPanel::takeFocus() {
  m_field->setFocus(Qt::ShortcutFocusReason);
  m_field->selectAll();
}

QJsonObject SearchPanel::state() const {
  return {{"history", QJsonArray::fromStringList(m_history->stringList())}};
}

void SearchPanel::restore(const QJsonObject& state) {
  QStringList queries;
  for (const QJsonValue& query : state["history"].toArray())
    if (query.isString() && queries.size() < kMostHistory) queries += query.toString();
  m_history->setStringList(queries);
}

bool SearchPanel::settled() const { return !m_presenter || !m_presenter->searching(); }

PanelDef searchPanel() {
  return {.id = "search",
          .title = "Search",
          .area = Qt::LeftDockWidgetArea,
          .shortcut = (Qt::CTRL | Qt::Key_F).toCombined(),
          .make = [](QWidget* parent) -> Panel* { return new SearchPanel(parent); },
          .keys = {{"Down", "into the results; in the empty field: earlier queries"},
                   {"Enter", "select the node"},
                   {"Esc", "clear"}}};
}

}  // namespace msdbg::app
