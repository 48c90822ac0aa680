#include "app/presenters/answer/questions.h"

#include <utility>

#include "app/presenters/document.h"

namespace msdbg::app {

Questions::Questions(Document& document) : m_document(document) {
  connect(&m_question, &Question::progressed, this, [this](const QString& line) {
    m_progress = line;
    emit progressed();
  });
  connect(&m_question, &Question::answered, this, &Questions::take);
  connect(&document.cursor(), &Cursor::moved, this, &Questions::offersChanged);
  connect(&document, &Document::grew, this, &Questions::askWays);
  askWays();
}

void Questions::askWays() {
  m_document.replay().ask(
      this, "ways",
      [](replay::Run& run, const core::CancelToken&) -> core::Result<replay::RecomputeWays> {
        return replay::RecomputeWays(run);
      },
      [this](core::Result<replay::RecomputeWays> ways) {
        if (!ways.ok()) return;  // the run is not open: the document says why
        m_ways = std::move(*ways);
        emit offersChanged();
      });
}

Offer Questions::offer(Ask ask, const Subject& subject) const {
  if (!m_ways) return offerOf(ask, subject, m_document.graph(), nullptr);
  ReplayCost cost{.secondsAnIteration = m_ways->secondsAnIteration()};
  if (const auto way = m_ways->to(subject.iteration); way.ok())
    cost.way = *way;
  else
    cost.whyNone = QString::fromStdString(way.error().message());
  return offerOf(ask, subject, m_document.graph(), &cost);
}

Offer Questions::offerAtCursor(Ask ask) const {
  const Place& place = m_document.cursor().place();
  return offer(ask, {.rank = place.rank, .iteration = place.iteration, .tensor = place.tensor});
}

void Questions::ask(const Offer& offer) {
  if (!offer.possible()) return;
  start({.words = offer.words,
         .name = offer.name,
         .command = commandLine(offer.words, m_document.runArgument())});
}

void Questions::askAgain() {
  if (const Asked* again = shown())
    start({.words = again->words, .name = again->name, .command = again->command});
}

void Questions::start(Asked asked) {
  cancel();
  m_asked.push_back(std::move(asked));
  if (m_asked.size() > kMost) m_asked.erase(m_asked.begin());
  m_shown = m_asked.size() - 1;
  m_progress.clear();
  m_since.start();
  QStringList words = m_asked.back().words;
  words.insert(1, QString::fromStdString(m_document.facts().path.string()));
  emit changed();
  m_question.ask(words);
}

Questions::Asked* Questions::runningOne() {
  return m_asked.empty() || m_asked.back().state != Asked::State::kRunning ? nullptr : &m_asked.back();
}

void Questions::cancel() {
  Asked* asked = runningOne();
  if (!asked) return;
  m_question.cancel();
  asked->state = Asked::State::kCancelled;
  asked->ms = m_since.elapsed();
  emit changed();
}

void Questions::take(const Reply& reply) {
  Asked* asked = runningOne();
  if (!asked) return;
  asked->state = Asked::State::kAnswered;
  asked->ms = m_since.elapsed();
  asked->reply = reply;
  asked->text = QString::fromUtf8(std::exchange(asked->reply.text, {}));
  asked->links = placedLinks(asked->text, m_document.graph());
  asked->way = wayOf(asked->links, m_document.graph());
  emit changed();
}

void Questions::goBack() {
  if (!canGoBack()) return;
  --m_shown;
  emit changed();
}

void Questions::goForward() {
  if (!canGoForward()) return;
  ++m_shown;
  emit changed();
}

bool Questions::follow(std::size_t link) {
  const Asked* asked = shown();
  return asked && link < asked->links.size() && followLink(asked->links[link], m_document);
}

}  // namespace msdbg::app
