// What Trainer::fit is told and gives back: epochs over a loader, rounds of metrics, evaluation on held-out
// data, callbacks. Values only.
#pragma once

#include "core_engine/train/callback.h"
#include "core_engine/train/data.h"

namespace msdbg::core {

struct FitOptions {
  std::int64_t epochs = 1;      // until so many are complete; those before a restore() count
  std::int64_t steps = 0;       // so many iterations from here on, in place of epochs; --steps wins over both
  std::int64_t roundSteps = 0;  // iterations of a round, counted from iteration 0; 0: an epoch
  const DataLoader* heldOut = nullptr;    // evaluated at the end of every round: val_loss, val_accuracy
  std::int64_t heldOutBatches = 0;        // of every rank; 0: one epoch of heldOut
  std::vector<Callback*> callbacks = {};  // asked in this order
};

struct FitResult {
  std::vector<Round> rounds;  // the last one may be shorter
  std::string stopped = {};   // why a callback ended training; "": none has
};

}  // namespace msdbg::core
