// Cast: another dtype. Towards integers: truncated, saturated at the ends, NaN becomes 0; towards bool: not
// zero; towards float16 and bfloat16: rounded to the nearest, by way of float32.
#include <cmath>
#include <limits>
#include <type_traits>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"
#include "core_engine/ops/onnx_dtype.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kNumbers =
    "1 (float32), 2 (uint8), 6 (int32), 7 (int64), 9 (bool), 10 (float16), 11 (float64) or 16 (bfloat16)";

std::optional<DType> target(const Attributes& attributes) {
  return dtypeFromOnnx(intAttribute(attributes, "to", 0));
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("Cast", inputs, {"X"}));
  const std::optional<DType> to = target(attributes);
  if (!to)
    return inferError("Cast", "attribute to is " + std::to_string(intAttribute(attributes, "to", 0)) +
                                  ", but " + std::string(kNumbers) + " was expected");
  if (!isComputed(*to) && !isRounded(*to)) return inferError("Cast", notComputed(*to));
  return std::vector<TensorType>{{*to, inputs[0].shape}};
}

Gradients gradient(GradientBuilder& b) {
  const DType from = b.input(0).dtype();
  if (!isFloating(from)) return {std::nullopt};
  return unaryGradient(b, "Cast", {}, {{"to", onnxNumber(from)}});
}

/// Floating to integer without undefined behaviour. The largest integers are not doubles, so the upper end is
/// compared with 2^digits.
template <typename To, typename From>
To saturate(From x) {
  const double value = static_cast<double>(x), end = std::ldexp(1.0, std::numeric_limits<To>::digits);
  if (std::isnan(value)) return To(0);
  if (value >= end) return std::numeric_limits<To>::max();
  if (value <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(value);
}

template <typename To, typename From>
To convert(From x) {
  if constexpr (std::is_same_v<To, bool>)
    return x != From(0);
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
    return saturate<To>(x);
  else
    return static_cast<To>(x);
}

Status reference(const KernelArgs& args) {
  visitComputed(args.inputs[0]->dtype(), [&](auto from) {
    visitComputed(args.outputs[0]->dtype(), [&](auto to) {
      using To = decltype(to);
      const auto x = args.inputs[0]->data<decltype(from)>();
      const auto y = args.outputs[0]->data<To>();
      parallelFor(args.outputs[0]->elements(), args.state.threads,
                  [&](std::int64_t i) { y[i] = convert<To>(x[i]); });
    });
  });
  return Ok{};
}

}  // namespace

OpDef castOp() {
  return {.name = "Cast",
          .doc = "Y = X in another dtype; integers are truncated and saturated, NaN becomes 0. ONNX Cast-13",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .dataTypes = DataTypes::kAny,
          .attributes = {{"to", "int", "required", kNumbers}},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
