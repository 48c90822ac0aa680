#include "app/presenters/document.h"

#include "app/presenters/answer/questions.h"
#include "app/presenters/findings/kept_watchpoints.h"
#include "core_engine/base/text.h"

namespace msdbg::app {

namespace fs = std::filesystem;

namespace {

// What is recorded is committed once a second at most. After the recorder's end only the launcher's word on
// it may still come.
constexpr int kLookMs = 250, kLookForEndMs = 1000;

}  // namespace

Document::Document(const fs::path& run, QObject* parent)
    : Document([run] { return replay::Run::open(run); }, run, parent) {}

Document::Document(ReplayThread::Opener opener, const fs::path& name, QObject* parent)
    : QObject(parent), m_path(name), m_replay(std::move(opener)) {
  m_lookTimer.setSingleShot(true);
  connect(&m_lookTimer, &QTimer::timeout, this, &Document::look);
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
          const QString message = QString::fromStdString(opened.error().message());
          if (opened.error().code() == core::ErrorCode::kUnavailable)
            emit tooEarly(message);
          else
            emit failed(message);
          return;
        }
        m_facts = opened->facts;
        m_session = std::make_unique<SessionStore>(m_path, std::move(opened->session));
        m_cursor = std::make_unique<Cursor>(m_facts);
        m_findings = std::make_unique<Findings>(m_replay, m_facts);
        m_questions = std::make_unique<Questions>(*this);
        restoreWatchpoints();
        lookLater();
        emit this->opened();
      });
}

void Document::lookLater() {
  if (m_facts->recording || m_facts->description.end.state == "running")
    m_lookTimer.start(m_facts->recording ? kLookMs : kLookForEndMs);
}

void Document::look() {
  m_replay.ask(
      this, "look",
      [before = m_facts](replay::Run& run, const core::CancelToken&) { return lookAgain(run, *before); },
      [this](core::Result<Growth> growth) {
        if (!growth.ok()) {
          emit lost(QString::fromStdString(growth.error().message()));
          return;
        }
        if (growth->facts) take(std::move(*growth));
        lookLater();
      });
}

// Findings first: panels ask them when the cursor moves.
void Document::take(Growth growth) {
  const bool follow = m_following && m_cursor->atLastIteration();
  m_facts = std::move(growth.facts);
  m_growing = true;
  m_findings->setFacts(m_facts);
  m_cursor->setFacts(m_facts);
  emit grew();
  if (follow) m_cursor->follow();
  m_growing = false;
  if (growth.newerGraph) emit newerGraph();
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
  return QString::fromStdString(core::shellQuoted(word.toStdString()));
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
