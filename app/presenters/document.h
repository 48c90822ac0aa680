// Document: a run in the window: its thread, its facts, the cursor in it, what was found. Made at once,
// usable after opened(). While the run is being recorded it looks for what is new four times a second, on the
// replay thread, and tells it by grew(). UI thread only; panels get it whole and keep a presenter of their
// own on it.
#pragma once

#include <QObject>
#include <QTimer>

#include "app/async/replay_thread.h"
#include "app/presenters/cursor.h"
#include "app/presenters/findings.h"
#include "app/presenters/session_store.h"

namespace msdbg::app {

class Questions;

class Document : public QObject {
  Q_OBJECT
 public:
  explicit Document(const std::filesystem::path& run, QObject* parent = nullptr);
  /// For tests: a run made in memory.
  explicit Document(ReplayThread::Opener opener, const std::filesystem::path& name,
                    QObject* parent = nullptr);
  ~Document() override;

  const std::filesystem::path& path() const { return m_path; }
  bool isOpen() const { return m_facts != nullptr; }

  // After opened() only.
  const RunFacts& facts() const { return *m_facts; }
  std::shared_ptr<const RunFacts> sharedFacts() const { return m_facts; }
  const core::Graph& graph() const { return *m_facts->graph; }
  Cursor& cursor() { return *m_cursor; }
  Findings& findings() { return *m_findings; }
  Questions& questions() { return *m_questions; }
  SessionStore& session() {
    return *m_session;
  }  // "watchpoints" are the document's: it keeps and restores them
  ReplayThread& replay() { return m_replay; }

  /// While the cursor is at its rank's last iteration it stays at the last one as the run grows.
  void setFollowing(bool on) { m_following = on; }
  bool following() const { return m_following; }
  /// During the moves of the cursor that the growing run makes, not the user.
  bool growing() const { return m_growing; }

  /// The run as a command takes it, quoted for a shell: relative to the current folder when below it.
  QString runArgument() const;

 signals:
  void opened();
  void failed(const QString& message);  // the run cannot be opened; nothing else will come
  /// As failed(), of a run that has just begun: its graph is not there yet; try again in a moment.
  void tooEarly(const QString& message);
  // Of a run that is, or was, being recorded:
  void grew();        // facts() are new: iterations, ranks, how it ended; graph() is the same
  void newerGraph();  // open the run again to see it
  void lost(
      const QString& message);  // it is gone, or another one took its place; nothing is looked for any more

 private:
  void open();
  void restoreWatchpoints();
  void lookLater();
  void look();
  void take(Growth growth);
  std::filesystem::path m_path;
  ReplayThread m_replay;
  std::shared_ptr<const RunFacts> m_facts;
  std::unique_ptr<SessionStore> m_session;
  std::unique_ptr<Cursor> m_cursor;
  std::unique_ptr<Findings> m_findings;
  std::unique_ptr<Questions> m_questions;
  QTimer m_lookTimer;
  bool m_following = true, m_growing = false;
};

/// A word for a POSIX shell: as it is when harmless, else in single quotes.
QString shellQuoted(const QString& word);

}  // namespace msdbg::app
