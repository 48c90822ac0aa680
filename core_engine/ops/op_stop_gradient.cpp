// StopGradient: a copy through which no gradient comes back.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/copy.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  MSDBG_TRY(checkInputs("StopGradient", inputs, {"X"}));
  return std::vector{inputs[0]};
}

}  // namespace

OpDef stopGradientOp() {
  return {.name = "StopGradient",
          .doc = "Y = X, any dtype; a constant for autodiff: no gradient comes back through it. msdbg",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .dataTypes = DataTypes::kAny,
          .infer = infer,
          .reference = copyInput,
          .stopsGradients = true};
}

}  // namespace msdbg::core
