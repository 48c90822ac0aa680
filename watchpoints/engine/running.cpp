#include "watchpoints/engine/running.h"

namespace msdbg::watch {

void RunningWatchpoint::evaluate(const Moment& moment) {
  const bool bare = m_watchpoint->condition->rowsOnly && !moment.online && moment.rows.none();
  if (!bare) {
    tellRepeated();
    m_answer.reset();
    EvaluationContext context = contextOf(moment, m_notEvaluable, m_evaluated);
    return m_evaluator->evaluate(context);
  }
  if (m_steady && m_answer->isOf(moment)) {
    ++m_repeated;
    m_last = moment.iteration;
    return;
  }
  tellRepeated();
  ask(moment);
}

// What a condition does once, in the first iteration that it is asked of, is not repeated: then the second
// answer is another one.
void RunningWatchpoint::ask(const Moment& moment) {
  Answer now;
  now.step = &moment.step;
  now.ranks.assign(moment.ranks.begin(), moment.ranks.end());
  now.beforeSelected = moment.beforeSelected;
  const std::size_t known = m_findings.size();
  EvaluationContext context = contextOf(moment, now.notEvaluable, now.evaluated);
  m_evaluator->evaluate(context);
  now.findings = m_findings.size() > known;
  m_notEvaluable.add(now.notEvaluable, 1, moment.iteration);
  m_evaluated += now.evaluated;
  m_steady = m_answer && m_answer->isOf(moment) && !now.findings && !m_answer->findings &&
             now.evaluated == m_answer->evaluated && now.notEvaluable == m_answer->notEvaluable;
  m_answer = std::move(now);
}

void RunningWatchpoint::tellRepeated() {
  if (m_repeated > 0) {
    m_notEvaluable.add(m_answer->notEvaluable, m_repeated, m_last);
    m_evaluated += m_repeated * m_answer->evaluated;
  }
  m_repeated = 0;
  m_steady = false;
}

void RunningWatchpoint::finish(const Moment& moment) {
  tellRepeated();
  EvaluationContext context = contextOf(moment, m_notEvaluable, m_evaluated);
  m_evaluator->finish(context);
}

EvaluationContext RunningWatchpoint::contextOf(const Moment& m, NotEvaluableList& notEvaluable,
                                               std::int64_t& evaluated) {
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
          .notEvaluable = notEvaluable,
          .evaluated = evaluated};
}

}  // namespace msdbg::watch
