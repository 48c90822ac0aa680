// PositionBar: rank and iteration of the cursor, to be seen and set with the mouse: a combo box, a number,
// the user's own number of the step where there is one, a slider over the recorded iterations. UI thread
// only.
#pragma once

#include <QPointer>
#include <QWidget>

#include "app/presenters/document.h"
#include "graph_view/scene/look.h"

class QComboBox;
class QLabel;
class QSlider;
class QSpinBox;

namespace msdbg::app {

class StepEdit;

class PositionBar : public QWidget {
  Q_OBJECT
 public:
  explicit PositionBar(QWidget* parent = nullptr);
  void setDocument(Document* document);
  void setLook(const graphview::Look& look);  // the ranks' colours

 private:
  const std::vector<core::Iteration>& iterations() const;  // of the cursor's rank
  void fillRanks();
  void grow();
  void follow();  // the cursor
  void makeStep();
  void followStep();
  void goToStep(qint64 step);
  QPointer<Document> m_document;
  graphview::Look m_look;
  QComboBox* m_rank;
  QSpinBox* m_iteration;
  QLabel* m_stepLabel;
  StepEdit* m_step;  // seen where the program told its own numbers
  QSlider* m_slider;
};

}  // namespace msdbg::app
