// ConditionForm: one watchpoint, written in fields that the condition's schema gives. UI thread only.
#pragma once

#include <QWidget>

#include "app/presenters/findings/condition_draft.h"
#include "graph_view/scene/look.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QVBoxLayout;

namespace msdbg::app {

class ConditionForm : public QWidget {
  Q_OBJECT
 public:
  explicit ConditionForm(QWidget* parent = nullptr);
  /// A new one, or the one to be changed.
  void start();
  void start(const watch::Watchpoint& watchpoint);
  /// A new one on this tensor: of the first condition that looks at chosen tensors.
  void startOn(const QString& tensor);
  /// Of the run whose tensors are named; nullptr: any name will do.
  void setGraph(std::shared_ptr<const core::Graph> graph);
  void takeFocus();  // to the first field
  void setLook(const graphview::Look& look);

 signals:
  void accepted(const msdbg::watch::Watchpoint& watchpoint);
  void cancelled();

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void makeLayout();
  void setDraft(ConditionDraft draft);
  void makeFields();
  void addField(const watch::ParameterSpec& spec, QVBoxLayout& layout);
  void validate();
  void accept();
  graphview::Look m_look;
  ConditionDraft m_draft;
  QString m_tensor;  // what a new one is to look at; "": no wish
  std::shared_ptr<const core::Graph> m_graph;
  QComboBox* m_condition;
  QLabel *m_doc, *m_error;
  QWidget* m_fields = nullptr;
  QVBoxLayout* m_fieldsPlace = nullptr;
  QLineEdit* m_firstField = nullptr;
  QPushButton *m_ok, *m_cancel;
};

}  // namespace msdbg::app
