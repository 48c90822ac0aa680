// ReduceLROnPlateau: a lower learning rate when a metric has stopped improving. The algorithm is that of
// Keras and MindSpore, cooldown counting included. With a schedule it is the optimizer's rate that is
// lowered; the schedule stays a factor to it. A value of NaN improves on nothing. One thread.
#pragma once

#include "core_engine/train/monitor.h"

namespace msdbg::core {

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;         // what the rate is multiplied by, in (0, 1)
  std::int64_t patience = 10;  // rounds without improvement, after which the rate is lowered
  double minDelta = 1e-4;      // less of a change is no improvement
  std::int64_t cooldown = 0;   // rounds after a lowering in which none are counted
  double minLr = 0;            // never below
  MonitorMode mode = MonitorMode::kAuto;
};

class ReduceLROnPlateau : public Callback {
 public:
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options);

  Status begin(TrainingControl& training) override;
  Status roundEnded(const Round& round, TrainingControl& training) override;
  Status end(TrainingControl& training) override;

 private:
  void lower(TrainingControl& training);

  ReduceLROnPlateauOptions m_options;
  Monitor m_monitor;
  std::int64_t m_wait = 0, m_cooling = 0;
};

}  // namespace msdbg::core
