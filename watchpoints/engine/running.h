// RunningWatchpoint: a watchpoint with its evaluator and what it has answered so far. Shared by check() and
// OnlineCheck. Used from one thread.
#pragma once

#include <algorithm>

#include "watchpoints/condition.h"

namespace msdbg::watch {

class RunningWatchpoint {
 public:
  RunningWatchpoint(const Watchpoint& watchpoint, const core::Graph& graph)
      : m_watchpoint(&watchpoint),
        m_evaluator(watchpoint.condition->make(graph, watchpoint.parameters, watchpoint.recommended)) {
    if (const core::Status fit = namesFit(watchpoint, graph); !fit.ok()) {
      NotEvaluable entry;
      entry.reason = "no_tensor";
      entry.detail = fit.error().message();
      m_notEvaluable.add(std::move(entry));
    }
  }

  /// Which iteration of which ranks; the sinks are this watchpoint's own.
  struct Moment {
    Source& source;
    IterationRows& rows;
    const Step& step;
    core::Iteration iteration;
    std::span<const core::Rank> ranks, allRanks;
    const std::function<bool(core::Iteration)>& selected;
    bool beforeSelected = false, online = false;
    core::CancelToken cancel = {};
  };
  /// A condition of rows only (rowsOnly) is asked of iterations without any until it answers the same twice;
  /// the answer then counts for those that follow. Of a long run, whose rows were thinned, most have none.
  void evaluate(const Moment& moment);
  void finish(const Moment& moment);

  const Watchpoint& watchpoint() const { return *m_watchpoint; }
  std::vector<Finding> takeFindings() { return std::exchange(m_findings, {}); }
  std::vector<NotEvaluable> takeNotEvaluable() { return m_notEvaluable.take(); }
  std::int64_t evaluated() const { return m_evaluated; }

 private:
  /// What was answered of an iteration without rows, and of which ranks and graphs.
  struct Answer {
    NotEvaluableList notEvaluable;
    std::int64_t evaluated = 0;
    bool findings = false;
    const Step* step = nullptr;
    std::vector<core::Rank> ranks;
    bool beforeSelected = false;
    bool isOf(const Moment& m) const {
      return step == &m.step && beforeSelected == m.beforeSelected && std::ranges::equal(ranks, m.ranks);
    }
  };
  EvaluationContext contextOf(const Moment& moment, NotEvaluableList& notEvaluable, std::int64_t& evaluated);
  void ask(const Moment& moment);
  void tellRepeated();

  const Watchpoint* m_watchpoint;
  std::unique_ptr<Evaluator> m_evaluator;
  std::vector<Finding> m_findings;
  NotEvaluableList m_notEvaluable;
  std::int64_t m_evaluated = 0;

  std::optional<Answer> m_answer;  // of the iteration before, where that had no rows
  bool m_steady = false;           // the one before that answered the same
  std::int64_t m_repeated = 0;     // so often since, which is still to be told
  core::Iteration m_last;          // of those
};

}  // namespace msdbg::watch
