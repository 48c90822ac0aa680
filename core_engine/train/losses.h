// Losses beside softmaxCrossEntropy (ops/functions.h): each a scalar, the mean over all elements, of nodes on
// the caller's line. Prediction and target have one shape: [N] beside [N, 1] would broadcast to [N, N] and
// train something else, so it is refused. They throw BuildError.
//
// Any floating-point scalar is a loss. One of one's own is what its formula says, Huber's for example:
//   const Value error = abs(y - target);
//   const Value loss = reduceMean(where(less(error, one), 0.5 * error * error, error - 0.5), {}, false);
//   Trainer trainer(run, g, loss, Adam{});
#pragma once

#include "core_engine/ops/functions.h"

namespace msdbg::core {

/// mean((prediction - target)^2)
Value meanSquaredError(Value prediction, Value target, Where where = Where::current());
/// mean(|prediction - target|); its gradient is 0 where they are equal.
Value meanAbsoluteError(Value prediction, Value target, Where where = Where::current());
/// mean(-target * ln(s) - (1 - target) * ln(1 - s)) with s = sigmoid(logits), computed without overflow or
/// ln(0) as (1 - target) * logits + ln(1 + e^-logits). target in [0, 1]; Bool and integers are cast.
Value binaryCrossEntropyWithLogits(Value logits, Value target, Where where = Where::current());

}  // namespace msdbg::core
