// SliceBar: which two dimensions are rows and columns, and an index for every other one.
#pragma once

#include <QWidget>
#include <vector>

#include "app/presenters/tensor/tensor_presenter.h"

class QComboBox;
class QBoxLayout;
class QGridLayout;
class QLabel;
class QSpinBox;

namespace msdbg::app {

class SliceBar : public QWidget {
  Q_OBJECT
 public:
  explicit SliceBar(QWidget* parent = nullptr);
  void setPresenter(TensorPresenter* presenter);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void refresh();
  void rebuild();
  void fill(QComboBox* combo, int current);
  TensorPresenter* m_presenter = nullptr;
  QComboBox *m_rows, *m_columns;
  QBoxLayout* m_layout;
  QWidget* m_indexArea;
  QGridLayout* m_indexGrid;
  std::vector<QSpinBox*> m_indices;  // one per dimension; those of rows and columns are hidden
  core::Shape m_shape;
};

}  // namespace msdbg::app
