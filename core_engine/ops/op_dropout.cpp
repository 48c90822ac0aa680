// Dropout: keeps an element with probability 1 - ratio and scales it by 1 / (1 - ratio), so that means stay.
// Which elements are kept depends on (seed, node name, iteration, index in the global batch) alone: see
// runtime/philox.h.
#include "core_engine/base/philox.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/copy.h"
#include "core_engine/ops/dropout.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs("Dropout", inputs, {"X"}));
  MSDBG_TRY(checkDropRatio("Dropout", attributes));
  return std::vector<TensorType>{inputs[0], {DType::Bool, inputs[0].shape}};
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "DropoutGrad", {b.output(1)}, b.forward().attributes);
}

Status keepAll(const KernelArgs& args) {
  for (bool& kept : args.outputs[1]->data<bool>()) kept = true;
  return copyInput(args);
}

Status reference(const KernelArgs& args) {
  if (!args.state.training) return keepAll(args);
  const double ratio = dropRatio(args.node.attributes);
  const RandomStream random(args.state.seed, args.node.name, args.state.iteration.value);
  const std::int64_t count = args.inputs[0]->elements(), first = args.state.rank.value * count;
  const auto mask = args.outputs[1]->data<bool>();
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = args.inputs[0]->data<T>();
    const auto y = args.outputs[0]->data<T>();
    parallelFor(count, args.state.threads, [&](std::int64_t i) {
      mask[i] = random.uniform(static_cast<std::uint64_t>(first + i)) >= ratio;
      y[i] = mask[i] ? static_cast<T>(x[i] * keptScale(ratio)) : T(0);
    });
  });
  return Ok{};
}

}  // namespace

OpDef dropoutOp() {
  return {.name = "Dropout",
          .doc =
              "Y = mask * X / (1 - ratio), each mask element true with probability 1 - ratio (Philox); Y = X "
              "outside "
              "training. ONNX Dropout-13",
          .inputNames = {"X"},
          .outputNames = {"Y", "mask"},
          .attributes = dropoutAttributes(),
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
