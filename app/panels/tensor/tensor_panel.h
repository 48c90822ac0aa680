// TensorPanel: the selected tensor at the cursor's rank and iteration: values, picture, histogram,
// statistics, and a comparison with another iteration or rank. UI thread only; see panels/panel.h.
#pragma once

#include <memory>

#include "app/panels/panel.h"
#include "app/presenters/answer/offer.h"
#include "app/presenters/tensor/statistics_model.h"
#include "app/presenters/tensor/tensor_choices.h"

class QComboBox;
class QLabel;
class QMenu;
class QStackedWidget;
class QTableView;
class QTabWidget;
class QToolButton;

namespace msdbg::app {

class CompareBar;
class ElidedLabel;
class HistogramPage;
class PicturesPage;
class SliceBar;
class ValuesView;

class TensorPanel : public Panel {
  Q_OBJECT
 public:
  explicit TensorPanel(QWidget* parent = nullptr);
  ~TensorPanel() override;

  void setDocument(Document* document) override;
  QString command() const override;
  void takeFocus() override;
  QJsonObject state() const override;
  void restore(const QJsonObject& state) override;
  bool settled() const override;

  TensorPresenter* presenter() const { return m_presenter.get(); }

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QWidget* makeHeader();
  QWidget* makeStatistics();
  QToolButton* makeMenuButton(const char* name, const QString& text, const QString& tip);
  void fillExportMenu(QMenu* menu);
  void addQuestions(QMenu* menu, Side side);
  void showCellMenu(Side side, const QPoint& at);
  void ask(Ask ask, Side side);
  void choose(int index);
  void typed();
  void refreshChoices();
  void refreshHeader();
  void exportTo(const QString& kind, const QString& filter, Side side);
  void say(const QString& problem);

  std::unique_ptr<TensorPresenter> m_presenter;
  std::unique_ptr<StatisticsModel> m_statisticsModel;
  std::vector<TensorChoice> m_choices;
  QStackedWidget* m_stack;
  QLabel *m_hint, *m_nothing, *m_problem;
  QComboBox* m_name;
  QToolButton *m_ask, *m_export;
  ElidedLabel *m_type, *m_place;
  CompareBar* m_compare;
  SliceBar* m_slice;
  QTabWidget* m_tabs;
  ValuesView* m_values;
  PicturesPage* m_pictures;
  HistogramPage* m_histogram;
  QTableView* m_statistics;
};

}  // namespace msdbg::app
