// Questions: what was asked of a document by a command, one at a time, and the answers to the last of them;
// what can be asked at the cursor. The document owns it: any panel asks, the answer panel shows. UI thread
// only.
#pragma once

#include <QElapsedTimer>
#include <QObject>

#include "app/async/question.h"
#include "app/presenters/answer/offer.h"
#include "app/presenters/answer/placed_links.h"

namespace msdbg::app {

class Questions : public QObject {
  Q_OBJECT
 public:
  static constexpr std::size_t kMost = 20;

  struct Asked {
    enum class State { kRunning, kAnswered, kCancelled };
    QStringList words;  // RUN left out
    QString name;       // "Why this value?"
    QString command;    // as a shell takes it
    State state = State::kRunning;
    Reply reply = {};   // kAnswered
    qint64 ms = 0;      // that it took
    QString text = {};  // of the reply
    std::vector<PlacedLink> links = {};
    std::vector<core::NodeId> way = {};  // wayOf() them
  };

  explicit Questions(Document& document);

  /// What runs is cancelled. It becomes the newest of the questions and is shown. Only what is possible().
  void ask(const Offer& offer);
  /// The shown one once more.
  void askAgain();
  void cancel();  // what runs
  bool running() const { return m_question.running(); }
  QString progress() const { return m_progress; }  // "computing iteration 3 of 5"; "" before it says anything

  const Asked* shown() const { return m_asked.empty() ? nullptr : &m_asked[m_shown]; }
  std::size_t count() const { return m_asked.size(); }
  bool canGoBack() const { return m_shown > 0; }
  bool canGoForward() const { return m_shown + 1 < m_asked.size(); }
  void goBack();
  void goForward();

  /// Follows one of the shown links; false: that place is not in this run.
  bool follow(std::size_t link);

  /// Not possible() until it is known what computing costs: offersChanged().
  Offer offer(Ask ask, const Subject& subject) const;
  Offer offerAtCursor(Ask ask) const;

 signals:
  void changed();  // shown(), or its state
  void progressed();
  void offersChanged();  // what can be asked at the cursor, or its cost

 private:
  void start(Asked asked);
  void take(const Reply& reply);
  void askWays();
  Asked* runningOne();

  Document& m_document;
  Question m_question;
  QElapsedTimer m_since;
  std::vector<Asked> m_asked;  // the newest last: that is the one that may run
  std::size_t m_shown = 0;
  QString m_progress;
  std::optional<replay::RecomputeWays> m_ways;
};

}  // namespace msdbg::app
