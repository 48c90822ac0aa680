// HistogramPage: how the finite values are distributed, A and what it is compared with over the same bins;
// what is not finite and what is zero is said in words.
#pragma once

#include <QWidget>

#include "app/presenters/tensor/tensor_presenter.h"

class QCheckBox;
class QCPBars;
class QCPGraph;
class QCustomPlot;
class QLabel;

namespace msdbg::app {

class HistogramPage : public QWidget {
  Q_OBJECT
 public:
  explicit HistogramPage(QWidget* parent = nullptr);
  void setPresenter(TensorPresenter* presenter);
  QCustomPlot* plot() const { return m_plot; }
  bool logarithmic() const;
  void setLogarithmic(bool on);

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void watch();
  void refresh();
  void scale();
  void recolour();
  QString caption() const;
  TensorPresenter* m_presenter = nullptr;
  QCheckBox* m_log;
  QLabel *m_legend = nullptr, *m_caption, *m_message;
  QCustomPlot* m_plot;
  QCPBars* m_bars;
  QCPGraph* m_outline;  // B
};

}  // namespace msdbg::app
