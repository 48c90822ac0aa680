// The title bar of a panel, in a dock or in the centre: its name, "copy as command", float and close.
#pragma once

#include <QWidget>

class QDockWidget;
class QHBoxLayout;
class QToolButton;

namespace msdbg::app {

class Panel;

class PanelTitle : public QWidget {
  Q_OBJECT
 public:
  /// dock: nullptr in the centre (no float, no close).
  PanelTitle(const QString& title, Panel* panel, QDockWidget* dock, QWidget* parent);

 signals:
  void copyWanted(Panel* panel);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void addDockButtons(QHBoxLayout& row, QDockWidget* dock);
  void tint();
  QToolButton *m_copy = nullptr, *m_float = nullptr, *m_close = nullptr;
};

}  // namespace msdbg::app
