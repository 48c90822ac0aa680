// WatchpointSection: the watchpoints under a title that folds them away; adding and changing one happens in a
// window of its own beside the panel, so that the hits stay in sight. UI thread only.
#pragma once

#include <QWidget>
#include <memory>
#include <optional>

#include "app/presenters/findings/watchpoint_model.h"
#include "graph_view/scene/look.h"

class QDialog;
class QToolButton;
class QTreeView;

namespace msdbg::app {

class ConditionForm;

class WatchpointSection : public QWidget {
  Q_OBJECT
 public:
  explicit WatchpointSection(QWidget* parent = nullptr);
  ~WatchpointSection() override;
  void setFindings(Findings* findings);
  void setLook(const graphview::Look& look);
  bool isOpen() const;
  void setOpen(bool open);
  /// Opens the form for a new watchpoint on the tensor.
  void watch(const QString& tensor);

 signals:
  void openChanged(bool open);

 private:
  void makeLayout();
  QToolButton* button(const QString& text, const QString& toolTip, const char* name);
  void refresh();
  void edit(std::optional<std::size_t> row);
  void showForm();
  void hideForm();
  void accept(const watch::Watchpoint& watchpoint);
  std::optional<std::size_t> currentRow() const;
  Findings* m_findings = nullptr;
  std::unique_ptr<WatchpointModel> m_model;
  std::optional<std::size_t> m_edited;  // the row that the form changes; none: a new one
  QToolButton *m_title, *m_add, *m_edit, *m_remove, *m_undo, *m_reset;
  QTreeView* m_view;
  QWidget* m_list;    // the view and its buttons
  QDialog* m_dialog;  // around the form
  ConditionForm* m_form;
};

}  // namespace msdbg::app
