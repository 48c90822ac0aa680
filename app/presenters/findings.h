// Findings: the watchpoints of the window and what they found. The check runs as a long job on the replay
// thread; the last complete report stays until a newer one is there. A run that grows is checked again by
// itself: as a whole, so that the answer is the one of `msdbg check`, without a word while it goes on, and so
// seldom that it takes a tenth of a core at most. UI thread only.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>

#include "app/async/replay_thread.h"
#include "app/presenters/cursor.h"
#include "replay/findings.h"
#include "replay/verdict.h"

class QTimer;

namespace msdbg::app {

class Findings : public QObject {
  Q_OBJECT
 public:
  enum class State { kNone, kChecking, kDone, kCancelled, kFailed };

  /// One of the window's watchpoints: a condition of the recommended set, or the user's own.
  struct Entry {
    watch::Watchpoint watchpoint;
    bool enabled = true;
  };

  Findings(ReplayThread& replay, std::shared_ptr<const RunFacts> facts, QObject* parent = nullptr);

  std::shared_ptr<const core::Graph> graph() const;  // of the run
  State state() const { return m_state; }
  QString error() const { return m_error; }                          // kFailed
  double progress() const { return m_share ? m_share->load() : 0; }  // kChecking: 0 to 1
  /// The last complete report; nullptr before the first.
  const watch::CheckReport* report() const { return m_reportNumber > 0 ? &m_outcome.report : nullptr; }
  /// Counts the complete reports: views keep what they show while it stands still.
  int reportNumber() const { return m_reportNumber; }
  /// What followed from the first fault, one sentence each (as `msdbg check` prints them).
  const std::vector<std::string>& consequences() const { return m_outcome.consequences; }
  /// The inputs of the first wrong node, with their statistics; empty without a fault.
  const std::vector<replay::HitInput>& firstInputs() const { return m_outcome.firstInputs; }
  /// Of the report: how the run ended then, and what could not be read as far as the check came across it.
  const replay::RunState& runState() const { return m_outcome.state; }
  /// Of the report; only where there is one.
  replay::Verdict verdict() const {
    return replay::verdictOf(m_outcome.report, m_outcome.state, m_outcome.lastLoss);
  }

  const std::vector<Entry>& entries() const { return m_entries; }
  /// Faults and hints of the report in the order of "first", as F8 walks them: one per condition, severity,
  /// tensor and rank.
  const std::vector<watch::Hit>& hits() const { return m_hits; }

  /// Of hits(): the only place where they are counted.
  struct Counts {
    std::int64_t faults = 0, hints = 0;
    bool operator==(const Counts&) const = default;
  };
  Counts counts() const;

  // Changes of the watchpoints take effect at the next recheck(); `stale()` says that one is due.
  void setEntries(std::vector<Entry> entries);
  void add(watch::Watchpoint watchpoint);  // enabled; equal text: enabled again
  void remove(std::size_t index);
  /// In the place of another one; it keeps its check mark.
  void replace(std::size_t index, watch::Watchpoint watchpoint);
  void resetToRecommended();
  void setEnabled(std::size_t index, bool enabled);
  bool stale() const { return m_stale; }
  /// Takes back the last change of the watchpoints, up to the last 50.
  void undo();
  bool canUndo() const { return !m_before.empty(); }
  bool isRecommendedSet() const;  // the entries are exactly the default: `msdbg check` needs no -w

  /// Opens the form for a watchpoint on the tensor (a name as a command takes it).
  void askToWatch(const QString& tensor) { emit watchWanted(tensor); }

  void recheck();
  void cancel();
  /// The run has grown: it is checked again when it was checked before, and the last check is some time ago;
  /// at once when its recording has ended.
  void setFacts(std::shared_ptr<const RunFacts> facts);

  /// Where a hit is, for the cursor.
  Place placeOf(const watch::Hit& hit) const;
  /// The next hit after (or before) the cursor's place in (iteration, order, rank); none at the end.
  std::optional<std::size_t> nextHit(const Place& from, int direction) const;

 signals:
  void changed();  // state, report or entries
  void progressed(double share);
  void watchWanted(const QString& tensor);

 private:
  struct Outcome {
    watch::CheckReport report;
    std::vector<std::string> consequences;
    std::vector<replay::HitInput> firstInputs;
    replay::RunState state;
    std::optional<double> lastLoss;
  };
  static Outcome checked(replay::Run& run, ReplayThread& thread,
                         const std::vector<watch::Watchpoint>& watchpoints,
                         const watch::CheckOptions& options);
  void start(bool quiet);
  void finished(core::Result<Outcome> outcome);
  void checkGrowth();
  void change(std::vector<Entry> entries);
  void entriesChanged();
  std::int64_t orderAt(const Place& place) const;
  ReplayThread& m_replay;
  std::shared_ptr<const RunFacts> m_facts;
  State m_state = State::kNone;
  QString m_error;
  std::shared_ptr<std::atomic<double>> m_share;  // written by the replay thread, read by a timer
  QTimer *m_progressTimer, *m_growthTimer;
  QElapsedTimer m_sinceCheck;  // since the last one began, then since it ended
  qint64 m_restMs = 0;         // after the last one
  bool m_grown = false;        // since the last one began
  bool m_quiet = false;        // one of a run that has grown is under way
  bool m_stale = true;
  std::vector<Entry> m_entries;
  std::deque<std::vector<Entry>> m_before;  // what undo() goes back to; the last change last
  int m_reportNumber = 0;
  Outcome m_outcome;  // of the last complete check
  std::vector<watch::Hit> m_hits;
};

}  // namespace msdbg::app
