// AccumulateGradient: the mean of the gradients of several iterations, one after another.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/micro_step.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "AccumulateGradient";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs(kName, inputs, {"gradient", "accumulated", "micro_step"}));
  MSDBG_TRY(checkFloatingInputs(kName, inputs.first(2), {"gradient", "accumulated"}));
  MSDBG_TRY(checkShape(kName, "accumulated", inputs[1], inputs[0].shape));
  MSDBG_TRY(checkMicroStepType(kName, inputs[2]));
  const std::int64_t steps = intAttribute(attributes, "steps", 0);
  if (steps < 1)
    return inferError(kName, "attribute steps is " + std::to_string(steps) + ", but it must be positive");
  return std::vector{inputs[1]};
}

Status reference(const KernelArgs& args) {
  const auto steps = static_cast<double>(intAttribute(args.node.attributes, "steps", 1));
  const bool first = args.inputs[2]->data<std::int64_t>()[0] == 0;
  return mapBinary(
      args, [=](double gradient, double sum) { return first ? gradient / steps : sum + gradient / steps; });
}

}  // namespace

OpDef accumulateGradientOp() {
  return {
      .name = kName,
      .doc =
          "accumulated + gradient / steps, without the first where micro_step is 0: after the last of the "
          "steps the mean of their gradients. msdbg",
      .minInputs = 3,
      .maxInputs = 3,
      .inputNames = {"gradient", "accumulated", "micro_step"},
      .outputNames = {"accumulated"},
      .attributes = {{"steps", "int", "required", "iterations from one update to the next"}},
      .infer = infer,
      .reference = reference};
}

}  // namespace msdbg::core
