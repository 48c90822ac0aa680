// CompareBar: what the tensor is compared with, and what the comparison says in one line.
#pragma once

#include <QWidget>

#include "app/presenters/tensor/tensor_presenter.h"

class QComboBox;
class QLabel;
class QSpinBox;

namespace msdbg::app {

class CompareBar : public QWidget {
  Q_OBJECT
 public:
  explicit CompareBar(QWidget* parent = nullptr);
  void setPresenter(TensorPresenter* presenter);

 private:
  void choose();
  void chooseShown();
  void refresh();
  QString summary() const;
  TensorPresenter* m_presenter = nullptr;
  QComboBox *m_with, *m_shown;
  QSpinBox* m_number;
  QLabel* m_summary;
};

}  // namespace msdbg::app
