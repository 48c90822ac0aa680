#include "dump/policy/foreign_defaults.h"

namespace msdbg::dump {

RecordOptions foreignDefaults(RecordOptions options) {
  if (!options.batches) options.batches = false;
  if (!options.policy && options.rules.empty() && options.tensors.empty() && !options.onHit.on())
    options.policy = Policy::kStats;
  if (const std::int64_t every = options.checkpointEvery.value_or(0); every > 0) {
    Rule parameters;
    parameters.kinds = {
        core::TensorRole::kParameter};  // and buffers; states of optimizers are seen as updated
    parameters.every = every;
    options.rules.insert(options.rules.begin(), std::move(parameters));
  }
  options.checkpointEvery = RecordOptions::kNoCheckpoints;
  return options;
}

}  // namespace msdbg::dump
