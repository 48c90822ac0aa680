// TimelinePanel: a quantity over the iterations, and the position in them. See Timeline for what it shows.
#pragma once

#include <memory>

#include "app/panels/panel.h"

class QComboBox;
class QLabel;
class QStackedLayout;
class QToolButton;

namespace msdbg::app {

class ElidedLabel;
class PositionBar;
class Timeline;
class TimelinePlot;

class TimelinePanel : public Panel {
  Q_OBJECT
 public:
  explicit TimelinePanel(QWidget* parent = nullptr);
  ~TimelinePanel() override;

  void setDocument(Document* document) override;
  QString command() const override;
  void takeFocus() override;
  QJsonObject state() const override;
  void restore(const QJsonObject& state) override;
  bool settled() const override;

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void makeLayout();
  void fillQuantities();
  void applyLook();
  void showLines();
  void showQuantity();
  void showCursor();
  void goTo(core::Iteration iteration, std::optional<core::Rank> rank);

  Document* m_document = nullptr;
  std::unique_ptr<Timeline> m_timeline;
  QString m_wanted;  // the quantity that was chosen or restored; a document may lack it
  bool m_fitNext = true;
  QComboBox* m_quantity;
  ElidedLabel* m_title;
  QToolButton *m_log, *m_fit;
  QLabel *m_notice, *m_hint;
  QStackedLayout* m_pages;
  TimelinePlot* m_plot;
  PositionBar* m_position;
};

}  // namespace msdbg::app
