#include "core_engine/train/reduce_lr_on_plateau.h"

#include <fmt/format.h>

#include <algorithm>

namespace msdbg::core {
namespace {

constexpr const char* kName = "ReduceLROnPlateau";

Status checkOptions(const ReduceLROnPlateauOptions& o) {
  const auto usage = [](const std::string& what) {
    return Error(ErrorCode::kUsage, fmt::format("{}: {}", kName, what));
  };
  if (!(o.factor > 0 && o.factor < 1)) return usage("factor must lie between 0 and 1");
  if (o.patience < 0 || o.cooldown < 0) return usage("patience and cooldown must be at least 0");
  if (!(o.minLr >= 0)) return usage("minLr must be at least 0");
  return Ok{};
}

}  // namespace

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : m_options(std::move(options)), m_monitor(m_options.monitor, m_options.mode, m_options.minDelta) {}

Status ReduceLROnPlateau::begin(TrainingControl&) {
  MSDBG_TRY(checkOptions(m_options));
  m_wait = m_cooling = 0;
  const Status reset = m_monitor.reset();
  return reset.ok() ? reset : reset.error().in(kName);
}

Status ReduceLROnPlateau::roundEnded(const Round& round, TrainingControl& training) {
  const Result<bool> better = m_monitor.improves(round.metrics);
  if (!better.ok()) return better.error().in(kName);
  if (m_cooling > 0) {
    --m_cooling;
    m_wait = 0;
  }
  if (*better)
    m_wait = 0;
  else if (m_cooling == 0 && ++m_wait >= m_options.patience)
    lower(training);
  return Ok{};
}

// At the lowest rate nothing is reset either: as Keras, without a difference that could be seen.
void ReduceLROnPlateau::lower(TrainingControl& training) {
  const double rate = training.learningRate();
  if (rate <= m_options.minLr) return;
  training.setLearningRate(std::max(rate * m_options.factor, m_options.minLr));
  m_cooling = m_options.cooldown;
  m_wait = 0;
}

Status ReduceLROnPlateau::end(TrainingControl&) { return Ok{}; }

}  // namespace msdbg::core
