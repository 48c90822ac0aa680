// SgdUpdate: stochastic gradient descent as in PyTorch (train/optimizer.h).
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/micro_step.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "SgdUpdate";

Result<std::vector<TensorType>> infer(std::span<const TensorType> all, const Attributes& attributes) {
  MSDBG_ASSIGN(const InputTypes inputs, withoutMicroStep(kName, all, attributes));
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"parameter", "gradient", "learning_rate", "momentum"}, 3));
  MSDBG_TRY(checkShape(kName, "gradient", inputs[1], inputs[0].shape));
  MSDBG_TRY(checkShape(kName, "learning_rate", inputs[2], Shape{}));
  const bool hasMomentum = floatAttribute(attributes, "momentum", 0) != 0;
  if (hasMomentum != (inputs.size() == 4))
    return inferError(kName, "has " + std::to_string(inputs.size()) +
                                 " inputs, but a momentum state was expected exactly "
                                 "when attribute momentum is not 0");
  if (intAttribute(attributes, "nesterov", 0) != 0 && !hasMomentum)
    return inferError(kName, "attribute nesterov needs a momentum");
  if (!hasMomentum) return std::vector{inputs[0]};
  MSDBG_TRY(checkShape(kName, "momentum", inputs[3], inputs[0].shape));
  return std::vector{inputs[0], inputs[3]};
}

/// Each stored value is rounded once; the parameter's step uses the momentum as stored.
template <typename T>
void run(const KernelArgs& args) {
  const double momentum = floatAttribute(args.node.attributes, "momentum", 0);
  const double decay = floatAttribute(args.node.attributes, "weight_decay", 0);
  const bool nesterov = intAttribute(args.node.attributes, "nesterov", 0) != 0;
  const double rate = args.inputs[2]->at(0) * floatAttribute(args.node.attributes, "lr_factor", 1);
  const auto p = args.inputs[0]->data<T>(), g = args.inputs[1]->data<T>();
  const auto next = args.outputs[0]->data<T>();
  const bool hasState = args.outputs.size() > 1;
  parallelFor(args.outputs[0]->elements(), args.state.threads, [&](std::int64_t i) {
    double step = g[i];
    if (decay != 0) step += decay * p[i];
    if (hasState) {
      const T state = static_cast<T>(momentum * args.inputs[3]->data<T>()[i] + step);
      args.outputs[1]->data<T>()[i] = state;
      step = nesterov ? step + momentum * state : state;
    }
    next[i] = static_cast<T>(p[i] - rate * step);
  });
}

Status reference(const KernelArgs& args) {
  if (isBetweenUpdates(args)) {
    copyValue(*args.inputs[0], *args.outputs[0]);
    if (args.outputs.size() > 1) copyValue(*args.inputs[3], *args.outputs[1]);
    return Ok{};
  }
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) { run<decltype(zero)>(args); });
  return Ok{};
}

}  // namespace

OpDef sgdUpdateOp() {
  return {
      .name = kName,
      .doc =
          "g = gradient + weight_decay * p; v = momentum * v + g; p = p - learning_rate * v (v is g without "
          "momentum, g + momentum * v with nesterov), learning_rate times lr_factor. PyTorch's SGD; msdbg",
      .minInputs = 3,
      .maxInputs = 5,
      .inputNames = {"parameter", "gradient", "learning_rate", "momentum", "micro_step"},
      .outputNames = {"parameter", "momentum"},
      .attributes = {{"momentum", "float", "0", "factor of the previous step; not 0 needs the state"},
                     {"weight_decay", "float", "0", "L2 penalty added to the gradient"},
                     {"nesterov", "int", "0", "1: the step looks one momentum ahead"},
                     lrFactorAttribute(),
                     everyAttribute()},
      .infer = infer,
      .reference = reference};
}

}  // namespace msdbg::core
