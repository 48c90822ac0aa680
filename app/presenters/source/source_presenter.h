// SourcePresenter: the source files of a run, which of their lines made nodes and where something was found,
// the cursor's line, and the frames of the selected node. UI thread only; lives no longer than its document.
#pragma once

#include <QObject>
#include <QStringList>

#include "app/presenters/document.h"
#include "app/presenters/source/frame_model.h"
#include "app/presenters/source/line_index.h"

namespace msdbg::app {

struct SourceFile {
  std::string path;  // Frame::file
  QString title;     // the shortest end of the path that no other file has
  QString missing;   // why there is no text to show; "" when there is
};

/// What the check found on a line.
struct LineMark {
  int faults = 0, hints = 0;
  bool first = false;  // the first fault of all is here
  QStringList texts;   // the first few, in the order of "first"
  bool operator==(const LineMark&) const = default;
};

class SourcePresenter : public QObject {
  Q_OBJECT
 public:
  explicit SourcePresenter(Document& document, QObject* parent = nullptr);

  const std::vector<SourceFile>& files() const { return m_files; }
  /// The shown one, an index of files(); -1 when the run names no source.
  int file() const { return m_file; }
  void showFile(int index);

  // Of the shown file. Lines are 1-based.
  QString text() const;
  const LineIndex::Counts& nodeCounts() const;
  const std::map<std::int32_t, LineMark>& marks() const;
  std::int32_t line() const;  // the cursor's; 0 when it is in another file, or nowhere
  /// Exactly the nodes of `msdbg search FILE:LINE`, in its order.
  std::vector<core::NodeId> nodesOf(std::int32_t line) const;
  QString toolTip(std::int32_t line) const;  // what was found there and its nodes; "" when there is nothing
  /// The next line with nodes after (direction 1) or before (-1) `from`; 0 at the end.
  std::int32_t lineWithNodes(std::int32_t from, int direction) const;

  /// Selects the line's nodes everywhere; says which lines have some when this one has none.
  void selectLine(std::int32_t line);
  /// Goes to the line of a frame; the selected nodes stay.
  void goToFrame(int row);

  FrameModel& frames() { return m_frames; }
  QString framesTitle() const;  // whose frames they are; "" when nothing is selected
  int currentFrame() const;     // the row of the cursor's line; -1

  /// What `msdbg search` takes to print the shown line (or file); "" when nothing there made a node.
  QString query() const;

 signals:
  void fileChanged();
  void marksChanged();
  void lineChanged();    // also when the cursor moved to the same line again
  void framesChanged();  // their title, rows or current one
  void message(const QString& text);

 private:
  void followCursor();
  void readFrames();
  void readMarks();
  const std::string& path() const;
  Document& m_document;
  LineIndex m_index;
  std::vector<SourceFile> m_files;
  int m_file = -1;
  std::map<std::string, std::map<std::int32_t, LineMark>> m_marks;  // by file
  FrameModel m_frames;
};

}  // namespace msdbg::app
