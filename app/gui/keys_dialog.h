// The F1 page: every key of the window and its panels.
#pragma once

#include <QDialog>

namespace msdbg::app {

class KeysDialog : public QDialog {
  Q_OBJECT
 public:
  explicit KeysDialog(QWidget* parent);
};

}  // namespace msdbg::app
