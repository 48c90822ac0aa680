// AdamUpdate: Adam and AdamW as in PyTorch (train/optimizer.h).
#include <cmath>

#include "core_engine/ops/adam.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/micro_step.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "AdamUpdate";

Status checkBetas(const Attributes& attributes) {
  const double beta1 = floatAttribute(attributes, "beta1", 0.9),
               beta2 = floatAttribute(attributes, "beta2", 0.999);
  if (beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1) return Ok{};
  return inferError(kName, "attributes beta1 and beta2 must be in [0, 1)");
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> all, const Attributes& attributes) {
  MSDBG_ASSIGN(const InputTypes inputs, withoutMicroStep(kName, all, attributes));
  const InputNames kNames = {"parameter", "gradient", "learning_rate", "exp_avg", "exp_avg_sq", "step"};
  MSDBG_TRY(checkInputs(kName, inputs, kNames));
  MSDBG_TRY(checkFloatingInputs(kName, inputs.first(5),
                                {"parameter", "gradient", "learning_rate", "exp_avg", "exp_avg_sq"}));
  for (std::size_t i : {1, 3, 4}) MSDBG_TRY(checkShape(kName, kNames.begin()[i], inputs[i], inputs[0].shape));
  for (std::size_t i : {2, 5}) MSDBG_TRY(checkShape(kName, kNames.begin()[i], inputs[i], Shape{}));
  MSDBG_TRY(checkDType(kName, "step", inputs[5], DType::Int64));
  MSDBG_TRY(checkBetas(attributes));
  return std::vector{inputs[0], inputs[3], inputs[4]};
}

/// Each stored value is rounded once; the parameter's step uses the averages as stored.
template <typename T>
void run(const KernelArgs& args) {
  const AdamStep s = adamStep(args);
  const auto p = args.inputs[0]->data<T>(), g = args.inputs[1]->data<T>(), mean = args.inputs[3]->data<T>(),
             square = args.inputs[4]->data<T>();
  const auto next = args.outputs[0]->data<T>(), nextMean = args.outputs[1]->data<T>(),
             nextSquare = args.outputs[2]->data<T>();
  parallelFor(args.outputs[0]->elements(), args.state.threads, [&](std::int64_t i) {
    const double gradient = s.decay == 0 ? g[i] : g[i] + s.decay * p[i];
    nextMean[i] = static_cast<T>(s.beta1 * mean[i] + (1 - s.beta1) * gradient);
    nextSquare[i] = static_cast<T>(s.beta2 * square[i] + (1 - s.beta2) * gradient * gradient);
    const double root = std::sqrt(static_cast<double>(nextSquare[i])) / s.rootCorrection + s.epsilon;
    next[i] = static_cast<T>(p[i] * s.keep - s.rate * (nextMean[i] / root));
  });
}

Status reference(const KernelArgs& args) {
  if (isBetweenUpdates(args)) {
    copyValue(*args.inputs[0], *args.outputs[0]);
    copyValue(*args.inputs[3], *args.outputs[1]);
    copyValue(*args.inputs[4], *args.outputs[2]);
    return Ok{};
  }
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) { run<decltype(zero)>(args); });
  return Ok{};
}

}  // namespace

OpDef adamUpdateOp() {
  return {
      .name = kName,
      .doc =
          "t = step + 1; m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g * g; p = p - "
          "learning_rate * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon), learning_rate times "
          "lr_factor. PyTorch's Adam and (decoupled) AdamW; msdbg",
      .minInputs = 6,
      .maxInputs = 7,
      .inputNames = {"parameter", "gradient", "learning_rate", "exp_avg", "exp_avg_sq", "step", "micro_step"},
      .outputNames = {"parameter", "exp_avg", "exp_avg_sq"},
      .attributes = {{"beta1", "float", "0.9", "decay of the mean of gradients, in [0, 1)"},
                     {"beta2", "float", "0.999", "decay of the mean of their squares, in [0, 1)"},
                     {"epsilon", "float", "1e-08", "added to the root"},
                     {"weight_decay", "float", "0", "added to the gradient as weight_decay * p"},
                     {"decoupled", "int", "0", "1: the parameter is scaled by 1 - lr * weight_decay instead"},
                     lrFactorAttribute(),
                     everyAttribute()},
      .infer = infer,
      .reference = reference};
}

}  // namespace msdbg::core
