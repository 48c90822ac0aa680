// EarlyStopping: ends training when a metric has stopped improving. The algorithm is that of Keras and
// MindSpore; where they differ Keras': an improving round never ends training, and the best values are put
// back at the end of training, stopped or not. A value of NaN improves on nothing. One thread.
#pragma once

#include "core_engine/train/monitor.h"

namespace msdbg::core {

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double minDelta = 0;        // less of a change is no improvement
  std::int64_t patience = 0;  // rounds without improvement, after which training ends
  MonitorMode mode = MonitorMode::kAuto;
  bool restoreBest = false;  // at the end the model has the values of its best round
};

class EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options);

  Status begin(TrainingControl& training) override;
  Status roundEnded(const Round& round, TrainingControl& training) override;
  Status end(TrainingControl& training) override;

  std::int64_t bestRound() const { return m_bestRound; }
  double best() const { return m_monitor.best(); }

 private:
  EarlyStoppingOptions m_options;
  Monitor m_monitor;
  std::int64_t m_wait = 0, m_bestRound = 0;
  ModelValues m_bestValues;  // empty: none yet, or not to be restored
};

}  // namespace msdbg::core
