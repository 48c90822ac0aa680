// ValuesView: the table of a tensor's plane, beside it those of what it is compared with and of the
// difference; the current cell in full; the first elements that are not finite.
#pragma once

#include <QWidget>
#include <array>
#include <memory>

#include "app/presenters/tensor/tensor_table_model.h"

class QLabel;
class QListWidget;
class QPushButton;
class QSplitter;
class QStackedWidget;
class QTableView;

namespace msdbg::app {

class ElidedLabel;

class ValuesView : public QWidget {
  Q_OBJECT
 public:
  explicit ValuesView(QWidget* parent = nullptr);
  ~ValuesView() override;
  void setPresenter(TensorPresenter* presenter);
  QTableView* table(Side side) const { return m_panes[indexOf(side)].table; }
  /// The side whose table has the keyboard, else A.
  Side sideInUse() const;

 signals:
  void menuWanted(msdbg::app::Side side, const QPoint& at);  // of the current cell; on the screen
  void statisticsWanted();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Pane {
    QWidget* widget = nullptr;
    ElidedLabel* title = nullptr;
    QStackedWidget* stack = nullptr;  // the table, or why there is none
    QTableView* table = nullptr;
    QWidget* missing = nullptr;  // in place of the table: the message, and what can be seen instead
    QLabel *message = nullptr, *progress = nullptr;
    QPushButton *compute = nullptr, *nearest = nullptr, *statistics = nullptr;
    std::unique_ptr<TensorTableModel> model;
  };
  void makePane(Side side);
  void makeMissing(Side side);
  void showMissing(Side side);
  void showComputing(Side side);
  void linkScrolling();
  void arrange();
  int numbersWidth() const;  // of the rows' numbers
  void refresh();
  void showCell();
  void showNonFinite();
  TensorPresenter* m_presenter = nullptr;
  QSplitter* m_splitter;
  PerSide<Pane> m_panes;
  int m_shownPanes = 0, m_numbersWidth = 0;
  ElidedLabel *m_cut, *m_cell, *m_nonFiniteTitle;
  QListWidget* m_nonFinite;
};

}  // namespace msdbg::app
