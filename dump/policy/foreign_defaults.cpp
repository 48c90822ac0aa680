#include "dump/policy/foreign_defaults.h"

namespace msdbg::dump {

RecordOptions foreignDefaults(RecordOptions options) {
  if (!options.checkpointEvery) options.checkpointEvery = RecordOptions::kNoCheckpoints;
  if (!options.batches) options.batches = false;
  if (!options.policy && options.rules.empty() && options.tensors.empty() && !options.onHit.on())
    options.policy = Policy::kStats;
  return options;
}

}  // namespace msdbg::dump
