#include "core_engine/train/losses.h"

#include "core_engine/graph/precision.h"
#include "core_engine/train/build_mistake.h"

namespace msdbg::core {
namespace {

void check(const char* loss, const char* what, const Value& prediction, const Value& target,
           const Where& where) {
  const std::string name = std::string(loss) + ": ";
  if (!prediction.valid()) buildMistake(name + what + " is an empty Value", where);
  if (!target.valid()) buildMistake(name + "target is an empty Value", where);
  if (prediction.shape() != target.shape())
    buildMistake(name + what + " is " + prediction.shape().text() + " but target is " +
                     target.shape().text() + ": one shape is needed; use reshape or squeeze before it",
                 where);
}

}  // namespace

Value meanSquaredError(Value prediction, Value target, Where where) {
  check("meanSquaredError", "prediction", prediction, target, where);
  const LayerScope layer(prediction.graph(), where);
  const Value error = prediction - target;
  return reduceMean(error * error, {}, false);
}

Value meanAbsoluteError(Value prediction, Value target, Where where) {
  check("meanAbsoluteError", "prediction", prediction, target, where);
  const LayerScope layer(prediction.graph(), where);
  return reduceMean(abs(prediction - target), {}, false);
}

Value binaryCrossEntropyWithLogits(Value logits, Value target, Where where) {
  check("binaryCrossEntropyWithLogits", "logits", logits, target, where);
  const LayerScope layer(logits.graph(), where);
  if (!isFloating(target.dtype())) target = cast(target, parameterDType(logits));
  const Value without = (1 - target) * logits;
  return reduceMean(without + softplus(-logits), {}, false);
}

}  // namespace msdbg::core
