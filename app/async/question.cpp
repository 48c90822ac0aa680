#include "app/async/question.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QStandardPaths>

namespace msdbg::app {
namespace {

constexpr int kMostMsToEnd = 1000;  // that a process that was killed has to end
constexpr qsizetype kMostErrors = 64 << 10;

}  // namespace

QString msdbgProgram() {
  const QString beside = QCoreApplication::applicationDirPath() + QStringLiteral("/msdbg");
  if (QFileInfo(beside).isExecutable()) return beside;
  return QStandardPaths::findExecutable(QStringLiteral("msdbg"));
}

void Question::ask(const QStringList& arguments) {
  cancel();
  m_reply = {};
  m_errors.clear();
  m_lastLine.clear();
  const QString program = msdbgProgram();
  if (program.isEmpty()) {
    m_reply.problem = tr("the program msdbg, which computes, is neither beside this one nor on PATH");
    emit answered(m_reply);
    return;
  }
  m_process = std::make_unique<QProcess>();
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert(QStringLiteral("MSDBG_PROGRESS_LINES"), QStringLiteral("1"));
  m_process->setProcessEnvironment(environment);
  m_process->setStandardInputFile(QProcess::nullDevice());
  connect(m_process.get(), &QProcess::readyReadStandardOutput, this, &Question::readAnswer);
  connect(m_process.get(), &QProcess::readyReadStandardError, this, &Question::readErrors);
  connect(m_process.get(), &QProcess::finished, this, [this](int status, QProcess::ExitStatus how) {
    if (how == QProcess::NormalExit)
      finish(status, {});
    else
      finish(Reply::kNoStatus, tr("signal %1 ended msdbg").arg(status));
  });
  connect(m_process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) finish(Reply::kNoStatus, m_process->errorString());
  });
  m_process->start(program, arguments);
}

void Question::cancel() {
  if (!m_process) return;
  m_process->disconnect(this);
  m_process->kill();
  m_process->waitForFinished(kMostMsToEnd);
  m_process.reset();
}

// What is beyond the most is read too, so that the process can go on, and forgotten.
void Question::readAnswer() {
  const QByteArray more = m_process->readAllStandardOutput();
  const qsizetype room = kMostText - m_reply.text.size();
  m_reply.cut = m_reply.cut || more.size() > room;
  m_reply.text += more.left(room);
}

void Question::readErrors() {
  m_errors += m_process->readAllStandardError();
  qsizetype from = 0;
  for (qsizetype end = m_errors.indexOf('\n'); end >= 0; end = m_errors.indexOf('\n', from)) {
    takeErrorLine(m_errors.mid(from, end - from));
    from = end + 1;
  }
  m_errors = m_errors.mid(from).left(kMostErrors);
}

// Errors and warnings begin with the program's name; all else is progress.
void Question::takeErrorLine(const QByteArray& line) {
  static const QString kName = QStringLiteral("msdbg: "), kError = QStringLiteral("error: ");
  QString text = QString::fromUtf8(line).trimmed();
  if (text.isEmpty()) return;
  if (!text.startsWith(kName)) {
    m_lastLine = text;
    emit progressed(text);
    return;
  }
  text.remove(0, kName.size());
  if (text.startsWith(kError)) text.remove(0, kError.size());
  if (m_reply.problem.size() + text.size() > kMostErrors) return;
  m_reply.problem += (m_reply.problem.isEmpty() ? QString() : QStringLiteral("\n")) + text;
}

void Question::finish(int exitStatus, const QString& whyNone) {
  readAnswer();
  readErrors();
  takeErrorLine(m_errors);
  m_process.release()->deleteLater();  // it is its signal that brought us here
  m_reply.exitStatus = exitStatus;
  if (exitStatus == Reply::kNoStatus && m_reply.problem.isEmpty())
    m_reply.problem = m_lastLine.isEmpty() ? whyNone : whyNone + ": " + m_lastLine;
  emit answered(m_reply);
}

}  // namespace msdbg::app
