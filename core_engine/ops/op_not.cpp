// Not: true where X is false.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  MSDBG_TRY(checkInputs("Not", inputs, {"X"}));
  MSDBG_TRY(checkDType("Not", "X", inputs[0], DType::Bool));
  return std::vector{inputs[0]};
}

Status reference(const KernelArgs& args) {
  const auto x = args.inputs[0]->data<bool>();
  const auto y = args.outputs[0]->data<bool>();
  parallelFor(args.outputs[0]->elements(), args.state.threads, [&](std::int64_t i) { y[i] = !x[i]; });
  return Ok{};
}

}  // namespace

OpDef notOp() {
  return {.name = "Not",
          .doc = "Y is true where X is false. ONNX Not-1",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .dataTypes = DataTypes::kBool,
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
