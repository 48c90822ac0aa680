#include "app/gui/panel_frame.h"

#include <QDockWidget>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "app/gui/icons.h"
#include "app/panels/panel.h"

namespace msdbg::app {
namespace {

QToolButton* button(const QString& name, const QString& tip, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setAutoRaise(true);
  button->setIconSize(QSize(14, 14));
  button->setObjectName(name);
  button->setToolTip(tip);
  button->setAccessibleName(tip);
  button->setFocusPolicy(Qt::NoFocus);
  return button;
}

}  // namespace

PanelTitle::PanelTitle(const QString& title, Panel* panel, QDockWidget* dock, QWidget* parent)
    : QWidget(parent) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(8, 2, 4, 2);
  row->setSpacing(2);
  auto* label = new QLabel(title, this);
  QFont font = label->font();
  font.setBold(true);
  label->setFont(font);
  row->addWidget(label);
  row->addStretch(1);
  m_copy = button("copyCommand", "Copy as command: the line that prints what this panel shows", this);
  connect(m_copy, &QToolButton::clicked, this, [this, panel] { emit copyWanted(panel); });
  row->addWidget(m_copy);
  if (dock) addDockButtons(*row, dock);
  tint();
}

void PanelTitle::addDockButtons(QHBoxLayout& row, QDockWidget* dock) {
  m_float = button("floatPanel", "Take the panel out of the window, or put it back", this);
  connect(m_float, &QToolButton::clicked, dock, [dock] { dock->setFloating(!dock->isFloating()); });
  row.addWidget(m_float);
  m_close = button("closePanel", "Close the panel (its key, or View, shows it again)", this);
  connect(m_close, &QToolButton::clicked, dock, &QDockWidget::close);
  row.addWidget(m_close);
}

void PanelTitle::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) tint();
}

void PanelTitle::tint() {
  m_copy->setIcon(lineIcon("command", palette()));
  if (m_float) m_float->setIcon(lineIcon("float", palette()));
  if (m_close) m_close->setIcon(lineIcon("cancel", palette()));
}

}  // namespace msdbg::app
