#include "app/presenters/document.h"

#include <QRegularExpression>

#include "app/presenters/findings/kept_watchpoints.h"

namespace msdbg::app {

namespace fs = std::filesystem;

Document::Document(const fs::path& run, QObject* parent)
    : Document([run] { return replay::Run::open(run); }, run, parent) {}

Document::Document(ReplayThread::Opener opener, const fs::path& name, QObject* parent)
    : QObject(parent), m_path(name), m_replay(std::move(opener)) {
  open();
}

Document::~Document() = default;

void Document::open() {
  struct Opened {
    std::shared_ptr<const RunFacts> facts;
    SessionStore::Loaded session;
  };
  m_replay.ask(
      this, "open",
      [path = m_path](replay::Run& run, const core::CancelToken&) -> core::Result<Opened> {
        return Opened{readFacts(run), SessionStore::load(path)};
      },
      [this](core::Result<Opened> opened) {
        if (!opened.ok()) {
          emit failed(QString::fromStdString(opened.error().message()));
          return;
        }
        m_facts = opened->facts;
        m_session = std::make_unique<SessionStore>(m_path, std::move(opened->session));
        m_cursor = std::make_unique<Cursor>(m_facts);
        m_findings = std::make_unique<Findings>(m_replay, m_facts);
        restoreWatchpoints();
        emit this->opened();
      });
}

// The recommended set is not kept: a newer msdbg may recommend more.
void Document::restoreWatchpoints() {
  const QString key = QStringLiteral("watchpoints");
  if (const QJsonValue kept = m_session->value(key); kept.isArray()) {
    QStringList problems;
    m_findings->setEntries(entriesOf(kept.toArray(), problems));
    for (const QString& problem : problems) m_session->addProblem(problem);
  }
  connect(m_findings.get(), &Findings::changed, m_session.get(), [this, key] {
    m_session->set(key, m_findings->isRecommendedSet() ? QJsonValue(QJsonValue::Undefined)
                                                       : QJsonValue(toJson(m_findings->entries())));
  });
}

QString shellQuoted(const QString& word) {
  static const QRegularExpression kHarmless(QStringLiteral("^[A-Za-z0-9_./:@%+=,-]+$"));
  if (kHarmless.match(word).hasMatch()) return word;
  QString quoted = word;
  return "'" + quoted.replace("'", "'\\''") + "'";
}

QString Document::runArgument() const {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path full = fs::absolute(m_path, error).lexically_normal();
  const fs::path relative = full.lexically_relative(here);
  const bool below = !relative.empty() && *relative.begin() != "..";
  const QString path = QString::fromStdString((below ? relative : full).string());
  return shellQuoted(path.startsWith('-') ? "./" + path : path);  // not an option
}

}  // namespace msdbg::app
