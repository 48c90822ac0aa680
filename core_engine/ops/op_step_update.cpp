// StepUpdate: counts the optimizer's steps.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "StepUpdate";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  MSDBG_TRY(checkInputs(kName, inputs, {"step"}));
  MSDBG_TRY(checkDType(kName, "step", inputs[0], DType::Int64));
  MSDBG_TRY(checkShape(kName, "step", inputs[0], Shape{}));
  return std::vector{inputs[0]};
}

Status reference(const KernelArgs& args) {
  const auto done = static_cast<std::uint64_t>(args.inputs[0]->data<std::int64_t>()[0]);
  args.outputs[0]->data<std::int64_t>()[0] = static_cast<std::int64_t>(done + 1);
  return Ok{};
}

}  // namespace

OpDef stepUpdateOp() {
  return {.name = kName,
          .doc = "step = step + 1, an int64 scalar: how often Adam has updated. msdbg",
          .inputNames = {"step"},
          .outputNames = {"step"},
          .dataTypes = DataTypes::kInt64,
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
