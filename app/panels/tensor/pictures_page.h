// PicturesPage: the picture of the plane, beside it those of what it is compared with and of the difference.
#pragma once

#include <QWidget>

#include "app/presenters/tensor/tensor_presenter.h"

class QComboBox;
class QSplitter;

namespace msdbg::app {

class ElidedLabel;
class PictureView;

class PicturesPage : public QWidget {
  Q_OBJECT
 public:
  explicit PicturesPage(QWidget* parent = nullptr);
  void setPresenter(TensorPresenter* presenter);
  PictureView* view(Side side) const { return m_panes[indexOf(side)].view; }
  ColourMap colourMap() const;
  void setColourMap(ColourMap map);

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Pane {
    QWidget* widget = nullptr;
    ElidedLabel* title = nullptr;
    PictureView* view = nullptr;
  };
  void makePane(Side side);
  void watch();
  void refresh();
  void showCell();
  TensorPresenter* m_presenter = nullptr;
  QComboBox* m_map;
  QSplitter* m_splitter;
  PerSide<Pane> m_panes;
};

}  // namespace msdbg::app
