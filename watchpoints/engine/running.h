// RunningWatchpoint: a watchpoint with its evaluator and what it has answered so far. Shared by check() and
// OnlineCheck. Used from one thread.
#pragma once

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
  void evaluate(const Moment& moment) {
    EvaluationContext context = contextOf(moment);
    m_evaluator->evaluate(context);
  }
  void finish(const Moment& moment) {
    EvaluationContext context = contextOf(moment);
    m_evaluator->finish(context);
  }

  const Watchpoint& watchpoint() const { return *m_watchpoint; }
  std::vector<Finding> takeFindings() { return std::exchange(m_findings, {}); }
  std::vector<NotEvaluable> takeNotEvaluable() { return m_notEvaluable.take(); }
  std::int64_t evaluated() const { return m_evaluated; }

 private:
  EvaluationContext contextOf(const Moment& m) {
    return {.source = m.source,
            .rows = m.rows,
            .step = m.step,
            .parameters = m_watchpoint->parameters,
            .recommended = m_watchpoint->recommended,
            .iteration = m.iteration,
            .ranks = m.ranks,
            .allRanks = m.allRanks,
            .selected = m.selected,
            .beforeSelected = m.beforeSelected,
            .online = m.online,
            .cancel = m.cancel,
            .findings = m_findings,
            .notEvaluable = m_notEvaluable,
            .evaluated = m_evaluated};
  }

  const Watchpoint* m_watchpoint;
  std::unique_ptr<Evaluator> m_evaluator;
  std::vector<Finding> m_findings;
  NotEvaluableList m_notEvaluable;
  std::int64_t m_evaluated = 0;
};

}  // namespace msdbg::watch
