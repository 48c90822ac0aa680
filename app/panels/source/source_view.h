// SourceView: one source file, read-only, with how many nodes each line made and what was found on it in the
// margins. Knows no document: values in, chosen lines out. Lines are 1-based. UI thread only.
#pragma once

#include <Qsci/qsciscintilla.h>

#include <functional>

#include "app/presenters/source/source_presenter.h"
#include "graph_view/scene/look.h"

namespace msdbg::app {

class SourceView : public QsciScintilla {
  Q_OBJECT
 public:
  explicit SourceView(QWidget* parent);

  /// The lexer goes by the path's ending.
  void setSource(const QString& text, const std::string& path);
  void setNodeCounts(const LineIndex::Counts& counts);
  void setMarks(const std::map<std::int32_t, LineMark>& marks);
  /// Highlights the line and moves to it, in the middle unless it can be seen anyway; 0: none.
  void setLine(std::int32_t line);
  std::int32_t line() const { return m_line; }
  std::int32_t caretLine() const;
  /// Moves the caret, nothing else.
  void goTo(std::int32_t line);
  void setToolTips(std::function<QString(std::int32_t)> text) { m_toolTip = std::move(text); }

 signals:
  void lineChosen(int line);  // a click in a margin, or Enter

 protected:
  bool viewportEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void applyLook();
  void setMarkers(const graphview::Look& look);
  void showCounts();
  void bring(std::int32_t line);
  LineIndex::Counts m_counts;
  std::function<QString(std::int32_t)> m_toolTip;
  std::int32_t m_line = 0;
};

}  // namespace msdbg::app
