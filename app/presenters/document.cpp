#include "app/presenters/document.h"

#include <QRegularExpression>

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
  using Facts = core::Result<std::shared_ptr<const RunFacts>>;
  m_replay.ask(
      this, "open", [](replay::Run& run, const core::CancelToken&) -> Facts { return readFacts(run); },
      [this](Facts facts) {
        if (!facts.ok()) {
          emit failed(QString::fromStdString(facts.error().message()));
          return;
        }
        m_facts = *facts;
        m_cursor = std::make_unique<Cursor>(m_facts);
        m_findings = std::make_unique<Findings>(m_replay, m_facts);
        emit opened();
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
  return shellQuoted(QString::fromStdString((below ? relative : full).string()));
}

}  // namespace msdbg::app
