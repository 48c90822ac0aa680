// Values that the program reads itself: predictions, activations, gradients. What nobody keeps shares its
// memory with others, and may not be computed at all. Keeping changes no bit of the training.
//   const Value logits = keep(linear(h, {.out = 10}));
//   Trainer trainer(run, g, softmaxCrossEntropy(logits, label), Sgd{.lr = 0.1});
//   trainer.step(batch);
//   const Tensor now = trainer.value(logits), slope = trainer.gradient(logits);
#pragma once

#include "core_engine/ops/functions.h"

namespace msdbg::core {

/// Before the Trainer is made. Gives the value itself. Throws BuildError.
Value keep(Value value, Where where = Where::current());

}  // namespace msdbg::core
