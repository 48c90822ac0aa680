#include "app/presenters/session_store.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QLockFile>
#include <QSaveFile>
#include <QStandardPaths>
#include <QTimer>

namespace msdbg::app {
namespace {

namespace fs = std::filesystem;

constexpr int kSaveAfterMs = 800, kLockMs = 3000;
constexpr qint64 kMostBytes = 16 << 20;  // a session is some kB: more than this is something else
const QString kSchema = QStringLiteral("session/1");

QString inRun(const fs::path& run) { return QString::fromStdString((run / "session.json").string()); }

QString inUserFolder(const fs::path& run, const char* suffix = ".json") {
  std::error_code error;
  const std::string path = fs::weakly_canonical(fs::absolute(run, error), error).string();
  const QByteArray hash = QCryptographicHash::hash(QByteArray::fromStdString(path), QCryptographicHash::Sha1);
  return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/sessions/" + hash.toHex() +
         suffix;
}

SessionStore::Loaded read(const QString& path) {
  const auto useless = [&](const QString& why) {
    return SessionStore::Loaded{{},
                                QStringLiteral("%1: %2; watchpoints and layout start afresh").arg(path, why)};
  };
  QFile file(path);
  if (!file.exists()) return {};
  if (!QFileInfo(path).isFile()) return useless(QStringLiteral("is not a file"));  // a pipe would block
  if (!file.open(QIODevice::ReadOnly)) return useless(file.errorString());
  if (file.size() > kMostBytes) return useless(QStringLiteral("too large for a session"));
  QJsonParseError error;
  const QJsonDocument document = QJsonDocument::fromJson(file.readAll(), &error);
  if (error.error != QJsonParseError::NoError) return useless(error.errorString());
  const QString schema = document.object().value(QStringLiteral("schema")).toString();
  if (schema != kSchema)
    return useless(QStringLiteral("its schema is '%1', this msdbg reads '%2'").arg(schema, kSchema));
  return {document.object(), {}};
}

// "" or what went wrong.
QString write(const QString& path, const QByteArray& text, bool putAside) {
  if (putAside && QFile::exists(path)) {
    const QString aside = path + QStringLiteral(".damaged");
    QFile::remove(aside);
    if (!QFile::rename(path, aside)) return path + QStringLiteral(": cannot be put aside");
  }
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.commit())
    return path + ": " + file.errorString();
  return {};
}

// "" or why neither place takes it.
QString writeSomewhere(const fs::path& run, const QByteArray& text, bool putAside) {
  const QString problem = write(inRun(run), text, putAside);
  if (problem.isEmpty()) return {};
  const QString own = inUserFolder(run);
  const QString ownProblem = write(own, text, false);
  return ownProblem.isEmpty() ? QString() : problem + "; " + ownProblem;
}

// What one window changed, put into what another may have written since. A null value is a key that was
// removed.
QString writeChanges(const fs::path& run, const QJsonObject& changes, bool putAside) {
  const QString lockFile = inUserFolder(run, ".lock");
  QDir().mkpath(QFileInfo(lockFile).path());
  QLockFile lock(lockFile);
  lock.tryLock(kLockMs);  // a home that takes no files has no locks: then the last one wins
  QJsonObject content = SessionStore::load(run).content;
  for (auto change = changes.begin(); change != changes.end(); ++change) {
    if (change.value().isNull())
      content.remove(change.key());
    else
      content.insert(change.key(), change.value());
  }
  content.insert(QStringLiteral("schema"), kSchema);
  return writeSomewhere(run, QJsonDocument(content).toJson(), putAside);
}

}  // namespace

SessionStore::Loaded SessionStore::load(const fs::path& run) {
  const QFileInfo theirs(inRun(run)), own(inUserFolder(run));
  const bool useOwn = own.exists() && (!theirs.isFile() || own.lastModified() > theirs.lastModified());
  return read((useOwn ? own : theirs).filePath());
}

SessionStore::SessionStore(fs::path run, Loaded loaded, QObject* parent)
    : QObject(parent),
      m_run(std::move(run)),
      m_content(std::move(loaded.content)),
      m_problem(std::move(loaded.problem)),
      m_putAside(!m_problem.isEmpty()),
      m_timer(new QTimer(this)) {
  m_writer.setMaxThreadCount(1);
  m_timer->setSingleShot(true);
  m_timer->setInterval(kSaveAfterMs);
  connect(m_timer, &QTimer::timeout, this, &SessionStore::save);
}

SessionStore::~SessionStore() { flush(); }

void SessionStore::flush() {
  save();
  m_writer.waitForDone();
}

void SessionStore::set(const QString& key, const QJsonValue& value) {
  if (m_content.value(key) == value) return;
  if (value.isUndefined())
    m_content.remove(key);
  else
    m_content.insert(key, value);
  m_changed.insert(key);
  if (!m_timer->isActive()) m_timer->start();
}

void SessionStore::save() {
  m_timer->stop();
  if (m_changed.isEmpty()) return;
  QJsonObject changes;
  for (const QString& key : std::exchange(m_changed, {})) {
    const QJsonValue value = m_content.value(key);
    changes.insert(key, value.isUndefined() ? QJsonValue(QJsonValue::Null) : value);
  }
  const bool putAside = std::exchange(m_putAside, false);
  m_writer.start([this, run = m_run, changes, putAside] {
    const QString problem = writeChanges(run, changes, putAside);
    if (problem.isEmpty()) return;
    QMetaObject::invokeMethod(
        this, [this, problem] { emit failed(QStringLiteral("the session was not kept: ") + problem); },
        Qt::QueuedConnection);
  });
}

}  // namespace msdbg::app
