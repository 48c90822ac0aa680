// SessionStore: what the window keeps of a run between sessions: "watchpoints", "place", "panels". One JSON
// object ("schema": "session/1") in the run folder's session.json; where that cannot be written, in the
// user's own folder, by a hash of the run's path. Keys that it does not know are kept. Several windows may
// have one run open: each writes the keys that it changed itself into what the file has by then, under a
// lock.
//
// Threading: load() on any thread; the rest on the UI thread. Files are written on a thread of the store's
// own, each by one rename: a crash leaves the old one or the new one.
#pragma once

#include <QJsonObject>
#include <QObject>
#include <QSet>
#include <QThreadPool>
#include <filesystem>

class QTimer;

namespace msdbg::app {

class SessionStore : public QObject {
  Q_OBJECT
 public:
  struct Loaded {
    QJsonObject content;
    QString problem;  // a file is there that cannot be used: which, why
  };
  /// The newer of the two places; a missing file is an empty session.
  static Loaded load(const std::filesystem::path& run);

  SessionStore(std::filesystem::path run, Loaded loaded, QObject* parent = nullptr);
  ~SessionStore() override;  // saves what changed and waits for it

  QJsonValue value(const QString& key) const { return m_content.value(key); }
  QJsonObject object(const QString& key) const { return value(key).toObject(); }
  bool hasPlace() const { return !object(QStringLiteral("place")).isEmpty(); }
  /// What was wrong with the file; "" when nothing was. It is put aside (session.json.damaged), not lost,
  /// when the first change is saved.
  QString problem() const { return m_problem; }
  /// What an owner of a key could not use of it.
  void addProblem(const QString& problem) { m_problem += (m_problem.isEmpty() ? "" : "; ") + problem; }

  /// Undefined removes the key. What differs is written within a second.
  void set(const QString& key, const QJsonValue& value);
  /// Writes now what changed; returns at once.
  void save();
  void flush();  // and waits for it

 signals:
  void failed(const QString& message);  // could be written in neither place

 private:
  std::filesystem::path m_run;
  QJsonObject m_content;
  QString m_problem;
  QSet<QString> m_changed;  // keys that are not written yet
  bool m_putAside = false;
  QTimer* m_timer;
  QThreadPool m_writer;  // one thread: writes stay in order
};

}  // namespace msdbg::app
