// Question: one command of msdbg in a process of its own: the window links none of the engine, and to cancel
// is to end that process. What it prints is the answer. UI thread only.
#pragma once

#include <QObject>
#include <QProcess>
#include <memory>

namespace msdbg::app {

struct Reply {
  static constexpr int kNoStatus = -1;  // it could not be started, or a signal ended it
  int exitStatus = kNoStatus;
  QByteArray text;   // stdout, its first kMostText bytes
  bool cut = false;  // there was more
  QString problem;   // its errors and warnings, one a line; why there is no status; "" where all is well
};

class Question : public QObject {
  Q_OBJECT
 public:
  static constexpr qsizetype kMostText = 256 << 10;  // what a view shows without delay; a terminal has it all

  explicit Question(QObject* parent = nullptr) : QObject(parent) {}
  ~Question() override { cancel(); }

  /// One at a time: what was asked before is cancelled. answered() follows, at once where it cannot be
  /// started.
  void ask(const QStringList& arguments);
  bool running() const { return m_process != nullptr; }
  void cancel();  // answered() does not follow

 signals:
  void progressed(const QString& line);  // "computing iteration 3 of 5"
  void answered(const msdbg::app::Reply& reply);

 private:
  void readAnswer();
  void readErrors();
  void takeErrorLine(const QByteArray& line);
  void finish(int exitStatus, const QString& whyNone);

  std::unique_ptr<QProcess> m_process;
  Reply m_reply;
  QByteArray m_errors;  // on stderr, a line that has not ended
  QString m_lastLine;   // that is no error
};

/// msdbg beside this program, else the one on PATH; "" where there is none.
QString msdbgProgram();

}  // namespace msdbg::app
