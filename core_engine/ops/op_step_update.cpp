// StepUpdate: counts the optimizer's steps, and the iterations between two of them.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/micro_step.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "StepUpdate";

Result<std::vector<TensorType>> infer(std::span<const TensorType> all, const Attributes& attributes) {
  MSDBG_ASSIGN(const InputTypes inputs, withoutMicroStep(kName, all, attributes));
  MSDBG_TRY(checkInputs(kName, inputs, {"step"}));
  MSDBG_TRY(checkDType(kName, "step", inputs[0], DType::Int64));
  MSDBG_TRY(checkShape(kName, "step", inputs[0], Shape{}));
  if (const std::int64_t modulo = intAttribute(attributes, "modulo", 0); modulo < 0)
    return inferError(kName,
                      "attribute modulo is " + std::to_string(modulo) + ", but 0 or more was expected");
  return std::vector{inputs[0]};
}

Status reference(const KernelArgs& args) {
  const auto done = static_cast<std::uint64_t>(args.inputs[0]->data<std::int64_t>()[0]);
  const auto modulo = static_cast<std::uint64_t>(intAttribute(args.node.attributes, "modulo", 0));
  const std::uint64_t next = isBetweenUpdates(args) ? done : done + 1;
  args.outputs[0]->data<std::int64_t>()[0] = static_cast<std::int64_t>(modulo > 0 ? next % modulo : next);
  return Ok{};
}

}  // namespace

OpDef stepUpdateOp() {
  return {.name = kName,
          .doc =
              "step = step + 1, an int64 scalar, from 0 again at modulo: how often Adam has updated, or how "
              "many gradients are accumulated. msdbg",
          .maxInputs = 2,
          .inputNames = {"step", "micro_step"},
          .outputNames = {"step"},
          .dataTypes = DataTypes::kInt64,
          .attributes = {{"modulo", "int", "0", "above 0: the count goes on with 0 there"}, everyAttribute()},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
