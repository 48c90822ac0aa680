#include "app/panels/findings/watchpoint_section.h"

#include <QDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QToolButton>
#include <QTreeView>
#include <algorithm>

#include "app/panels/findings/condition_form.h"
#include "app/panels/roomy_delegate.h"

namespace msdbg::app {
namespace {

constexpr QSize kFormSize(420, 460);

}  // namespace

WatchpointSection::WatchpointSection(QWidget* parent)
    : QWidget(parent),
      m_title(button({}, QStringLiteral("What is checked"), "watchpointsTitle")),
      m_add(button(QStringLiteral("Add…"), QStringLiteral("Add a watchpoint"), "addWatchpoint")),
      m_edit(button(QStringLiteral("Edit…"), QStringLiteral("Change the selected watchpoint"),
                    "editWatchpoint")),
      m_remove(button(QStringLiteral("Remove"), QStringLiteral("Remove the selected watchpoint"),
                      "removeWatchpoint")),
      m_undo(button(QStringLiteral("Undo"), QStringLiteral("Take back the last change (Ctrl+Z)"),
                    "undoWatchpoints")),
      m_reset(
          button(QStringLiteral("Reset"), QStringLiteral("Back to the recommended set"), "resetWatchpoints")),
      m_view(new QTreeView(this)),
      m_list(new QWidget(this)),
      m_dialog(new QDialog(this)),
      m_form(new ConditionForm(m_dialog)) {
  makeLayout();
  connect(m_title, &QToolButton::toggled, this, [this](bool open) {
    m_title->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
    m_list->setVisible(open);
    setMaximumHeight(open ? QWIDGETSIZE_MAX : sizeHint().height());
    emit openChanged(open);
  });
  connect(m_add, &QToolButton::clicked, this, [this] { edit({}); });
  connect(m_edit, &QToolButton::clicked, this, [this] {
    if (const auto row = currentRow()) edit(row);
  });
  connect(m_view, &QTreeView::doubleClicked, m_edit, &QToolButton::click);
  connect(m_remove, &QToolButton::clicked, this, [this] {
    if (const auto row = currentRow()) m_findings->remove(*row);
  });
  m_undo->setShortcut(QKeySequence::Undo);
  connect(m_undo, &QToolButton::clicked, this, [this] { m_findings->undo(); });
  connect(m_reset, &QToolButton::clicked, this, [this] { m_findings->resetToRecommended(); });
  connect(m_form, &ConditionForm::accepted, this, &WatchpointSection::accept);
  connect(m_form, &ConditionForm::cancelled, this, &WatchpointSection::hideForm);
  setOpen(false);
}

WatchpointSection::~WatchpointSection() = default;

QToolButton* WatchpointSection::button(const QString& text, const QString& toolTip, const char* name) {
  auto* made = new QToolButton(this);
  made->setText(text);
  made->setToolTip(toolTip);
  made->setObjectName(QLatin1String(name));
  made->setAutoRaise(true);
  made->setFocusPolicy(Qt::StrongFocus);
  return made;
}

void WatchpointSection::makeLayout() {
  m_title->setCheckable(true);
  m_title->setChecked(true);
  m_title->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  m_title->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  m_view->setObjectName(QStringLiteral("watchpointView"));
  m_view->setAccessibleName(QStringLiteral("Watchpoints"));
  m_view->setRootIsDecorated(false);
  m_view->setUniformRowHeights(true);
  m_view->setHeaderHidden(true);
  m_view->setItemDelegate(new RoomyDelegate(m_view, {8, 6}));
  m_view->setFrameShape(QFrame::NoFrame);
  m_view->setTextElideMode(Qt::ElideRight);

  auto* tools = new QHBoxLayout;
  tools->setContentsMargins(8, 2, 8, 4);
  tools->setSpacing(2);
  for (QToolButton* tool : {m_add, m_edit, m_remove}) tools->addWidget(tool);
  tools->addStretch(1);
  tools->addWidget(m_undo);
  tools->addWidget(m_reset);
  auto* column = new QVBoxLayout(m_list);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(m_view, 1);
  column->addLayout(tools);
  m_dialog->setObjectName(QStringLiteral("watchpointDialog"));
  m_dialog->setModal(false);
  m_dialog->resize(kFormSize);
  auto* around = new QVBoxLayout(m_dialog);
  around->setContentsMargins(0, 0, 0, 0);
  around->addWidget(m_form);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(m_title);
  layout->addWidget(m_list, 1);
}

void WatchpointSection::setFindings(Findings* findings) {
  if (m_findings) m_findings->disconnect(this);
  m_view->setModel(nullptr);
  m_model.reset();
  m_findings = findings;
  m_form->setGraph(findings ? findings->graph() : nullptr);
  hideForm();
  if (findings) {
    m_model = std::make_unique<WatchpointModel>(*findings);
    m_view->setModel(m_model.get());
    m_view->header()->setSectionResizeMode(WatchpointModel::kTitle, QHeaderView::ResizeToContents);
    connect(findings, &Findings::changed, this, &WatchpointSection::refresh);
    connect(m_view->selectionModel(), &QItemSelectionModel::currentChanged, this,
            &WatchpointSection::refresh);
    connect(m_model.get(), &QAbstractItemModel::modelReset, this, &WatchpointSection::hideForm);
  }
  setEnabled(findings);
  refresh();
}

void WatchpointSection::refresh() {
  const bool there = m_findings;
  const auto all = there ? m_findings->entries().size() : 0;
  const auto enabled = there ? std::ranges::count(m_findings->entries(), true, &Findings::Entry::enabled) : 0;
  const QString kind = there && m_findings->isRecommendedSet()
                           ? QStringLiteral("the recommended %1").arg(all)
                           : QStringLiteral("%1 of %2").arg(enabled).arg(all);
  m_title->setText(there ? QStringLiteral("Watchpoints: ") + kind : QStringLiteral("Watchpoints"));
  for (QToolButton* tool : {m_edit, m_remove}) tool->setEnabled(currentRow().has_value());
  m_undo->setEnabled(there && m_findings->canUndo());
  m_reset->setEnabled(there && !m_findings->isRecommendedSet());
}

std::optional<std::size_t> WatchpointSection::currentRow() const {
  if (!m_model || !m_view->currentIndex().isValid()) return {};
  return static_cast<std::size_t>(m_view->currentIndex().row());
}

void WatchpointSection::edit(std::optional<std::size_t> row) {
  m_edited = row;
  m_dialog->setWindowTitle(row ? QStringLiteral("Change a watchpoint") : QStringLiteral("Add a watchpoint"));
  if (row)
    m_form->start(m_findings->entries()[*row].watchpoint);
  else
    m_form->start();
  showForm();
}

void WatchpointSection::watch(const QString& tensor) {
  setOpen(true);
  m_edited.reset();
  m_dialog->setWindowTitle(QStringLiteral("Watch ") + tensor);
  m_form->startOn(tensor);
  showForm();
}

void WatchpointSection::showForm() {
  m_dialog->show();
  m_dialog->raise();
  m_dialog->activateWindow();
  m_form->takeFocus();
}

// Keys are the window's again: F5 evaluates what was just added.
void WatchpointSection::hideForm() {
  m_dialog->hide();
  window()->activateWindow();
}

void WatchpointSection::accept(const watch::Watchpoint& watchpoint) {
  hideForm();
  if (!m_edited)
    m_findings->add(watchpoint);
  else if (m_findings->entries()[*m_edited].watchpoint.text() != watchpoint.text())
    m_findings->replace(*m_edited, watchpoint);
}

void WatchpointSection::setLook(const graphview::Look& look) { m_form->setLook(look); }

bool WatchpointSection::isOpen() const { return m_title->isChecked(); }

void WatchpointSection::setOpen(bool open) { m_title->setChecked(open); }

}  // namespace msdbg::app
