#include "core_engine/train/early_stopping.h"

#include "core_engine/base/text.h"

namespace msdbg::core {

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : m_options(std::move(options)), m_monitor(m_options.monitor, m_options.mode, m_options.minDelta) {}

Status EarlyStopping::begin(TrainingControl&) {
  if (m_options.patience < 0) return Error(ErrorCode::kUsage, "EarlyStopping: patience must be at least 0");
  m_wait = m_bestRound = 0;
  m_bestValues.clear();
  const Status reset = m_monitor.reset();
  return reset.ok() ? reset : reset.error().in("EarlyStopping");
}

Status EarlyStopping::roundEnded(const Round& round, TrainingControl& training) {
  const Result<bool> better = m_monitor.improves(round.metrics);
  if (!better.ok()) return better.error().in("EarlyStopping");
  // The first round is the best so far even if its value is NaN.
  if (*better || round.number == 0) {
    m_bestRound = round.number;
    if (m_options.restoreBest) m_bestValues = training.modelValues();
  }
  m_wait = *better ? 0 : m_wait + 1;
  if (*better || m_wait < m_options.patience || round.number == 0) return Ok{};
  training.stop(m_options.monitor + " has not improved for " + std::to_string(m_wait) +
                (m_wait == 1 ? " round" : " rounds") + "; the best was " + formatDouble(best()) +
                " in round " + std::to_string(m_bestRound));
  return Ok{};
}

Status EarlyStopping::end(TrainingControl& training) {
  return m_bestValues.empty() ? Status(Ok{}) : training.setModelValues(m_bestValues);
}

}  // namespace msdbg::core
