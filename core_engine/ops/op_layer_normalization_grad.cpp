// LayerNormalizationGrad: dX, dScale and dB. With xhat = (X - Mean) * InvStdDev and g = dY * Scale, means
// over a row: dX = InvStdDev * (g - mean(g) - xhat * mean(g * xhat)); dScale = sum(dY * xhat) and dB =
// sum(dY) over rows in order.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/layer_norm.h"
#include "core_engine/ops/normal_row.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "LayerNormalizationGrad";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"dY", "X", "Scale", "Mean", "InvStdDev"}));
  MSDBG_TRY(checkShape(kName, "dY", inputs[0], inputs[1].shape));
  MSDBG_ASSIGN(const NormalRows r, normalRows(kName, inputs[1].shape, attributes));
  MSDBG_TRY(checkShape(kName, "Scale", inputs[2], r.row));
  MSDBG_TRY(checkShape(kName, "Mean", inputs[3], r.mean));
  MSDBG_TRY(checkShape(kName, "InvStdDev", inputs[4], r.mean));
  return std::vector{inputs[1], inputs[2], inputs[2]};
}

template <typename T>
void runRow(const NormalOperands<T>& o, const NormalRows& r, std::int64_t row, T* dx) {
  const std::int64_t begin = row * r.length;
  normalizedRowGradient(
      dx + begin, r.length, o.inverse[row],
      [&](std::int64_t i) { return static_cast<double>(o.dy[begin + i]) * o.scale[i]; },
      [&](std::int64_t i) { return o.normal(begin + i, row); });
}

template <typename T>
void runColumn(const KernelArgs& args, const NormalOperands<T>& o, const NormalRows& r, std::int64_t column) {
  double sum = 0, product = 0;
  for (std::int64_t row = 0; row < r.rows; ++row) {
    const std::int64_t at = row * r.length + column;
    sum += o.dy[at];
    product += o.dy[at] * o.normal(at, row);
  }
  args.outputs[1]->data<T>()[column] = static_cast<T>(product);
  args.outputs[2]->data<T>()[column] = static_cast<T>(sum);
}

Status reference(const KernelArgs& args) {
  const NormalRows r = normalRows(kName, args.inputs[1]->shape(), args.node.attributes).value();
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const NormalOperands<T> o(args);
    T* dx = args.outputs[0]->data<T>().data();
    parallelFor(r.rows, args.state.threads, 8, [&](std::int64_t row) { runRow(o, r, row, dx); });
    parallelFor(r.length, args.state.threads, 8, [&](std::int64_t i) { runColumn(args, o, r, i); });
  });
  return Ok{};
}

}  // namespace

OpDef layerNormalizationGradOp() {
  return {.name = kName,
          .doc =
              "With xhat = (X - Mean) * InvStdDev and g = dY * Scale: dX = InvStdDev * (g - mean(g) - xhat * "
              "mean(g * xhat)) with means over a row, dScale = sum(dY * xhat), dB = sum(dY) over rows. msdbg",
          .minInputs = 5,
          .maxInputs = 5,
          .inputNames = {"dY", "X", "Scale", "Mean", "InvStdDev"},
          .outputNames = {"dX", "dScale", "dB"},
          .attributes = {{"axis", "int", "-1", "as in LayerNormalization"}},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
