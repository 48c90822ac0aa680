// Trilu: the upper or lower triangle of the last two dimensions, 0 elsewhere.
#include <algorithm>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  MSDBG_TRY(checkInputs("Trilu", inputs, {"input"}));
  if (inputs[0].shape.rank() < 2)
    return inferError("Trilu",
                      describeInput("input", inputs[0]) + ", but 2 dimensions or more were expected");
  return std::vector{inputs[0]};
}

Gradients gradient(GradientBuilder& b) { return unaryGradient(b, "Trilu", {}, b.forward().attributes); }

Status reference(const KernelArgs& args) {
  const Shape& shape = args.outputs[0]->shape();
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  const bool upper = intAttribute(args.node.attributes, "upper", 1) != 0;
  // Beyond the matrix every diagonal is alike; kept small, so that differences cannot overflow.
  const std::int64_t k =
      std::clamp<std::int64_t>(intAttribute(args.node.attributes, "k", 0), -rows - 1, columns + 1);
  visitComputed(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = args.inputs[0]->data<T>().data();
    T* y = args.outputs[0]->data<T>().data();
    parallelFor(columns == 0 ? 0 : shape.elements() / columns, args.state.threads, 64, [&](std::int64_t row) {
      const std::int64_t diagonal = row % rows + k;
      for (std::int64_t j = 0; j < columns; ++j) {
        const bool kept = upper ? j >= diagonal : j <= diagonal;
        y[row * columns + j] = kept ? x[row * columns + j] : T(0);
      }
    });
  });
  return Ok{};
}

}  // namespace

OpDef triluOp() {
  return {.name = "Trilu",
          .doc =
              "The upper (or lower) triangle of the last two dimensions, 0 elsewhere, any dtype. ONNX "
              "Trilu-14 with k as an attribute",
          .inputNames = {"input"},
          .outputNames = {"output"},
          .dataTypes = DataTypes::kAny,
          .attributes = {{"upper", "int", "1", "1: the upper triangle, 0: the lower one"},
                         {"k", "int", "0", "how far above the main diagonal the triangle's own lies"}},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
