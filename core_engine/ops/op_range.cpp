// Range: start, start + delta, … up to but not including limit. Their number must be known when the graph is
// built: attribute length.
#include <cmath>
#include <string>
#include <type_traits>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  const InputNames kNames = {"start", "limit", "delta"};
  MSDBG_TRY(checkInputs("Range", inputs, kNames));
  for (std::size_t i = 0; i < 3; ++i) {
    MSDBG_TRY(checkShape("Range", kNames.begin()[i], inputs[i], Shape{}));
    MSDBG_TRY(checkDType("Range", kNames.begin()[i], inputs[i], inputs[0].dtype));
  }
  if (inputs[0].dtype == DType::Bool) return inferError("Range", "start is bool, but a number was expected");
  const Shape shape{intAttribute(attributes, "length", -1)};
  MSDBG_TRY(checkSize("Range", "attribute length", shape));
  return std::vector<TensorType>{{inputs[0].dtype, shape}};
}

/// How many numbers there are; -1 when delta is 0 or one of the three is not finite.
template <typename T>
std::int64_t countOf(T start, T limit, T delta) {
  const double count =
      std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
  if (delta == T(0) || !(std::abs(count) < 1e15)) return -1;
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

template <typename T>
Status run(const KernelArgs& args) {
  const T start = args.inputs[0]->data<T>()[0], limit = args.inputs[1]->data<T>()[0],
          delta = args.inputs[2]->data<T>()[0];
  const auto y = args.outputs[0]->data<T>();
  const std::int64_t count = countOf(start, limit, delta);
  if (count != args.outputs[0]->elements())
    return Error(ErrorCode::kUsage, args.node.name + ": start, limit and delta give " +
                                        std::to_string(count) + " numbers, but attribute length says " +
                                        std::to_string(args.outputs[0]->elements()));
  parallelFor(count, args.state.threads, [&](std::int64_t i) {
    if constexpr (std::is_floating_point_v<T>)
      y[i] = static_cast<T>(static_cast<double>(start) + static_cast<double>(i) * static_cast<double>(delta));
    else
      y[i] = static_cast<T>(static_cast<std::uint64_t>(start) +
                            static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(delta));
  });
  return Ok{};
}

Status reference(const KernelArgs& args) {
  return visitComputed(args.outputs[0]->dtype(), [&](auto zero) -> Status {
    if constexpr (std::is_same_v<decltype(zero), bool>)
      return Error(ErrorCode::kInternal, args.node.name + ": Range of bools");
    else
      return run<decltype(zero)>(args);
  });
}

}  // namespace

OpDef rangeOp() {
  return {.name = "Range",
          .doc =
              "output[i] = start + i * delta below limit, any dtype but bool. ONNX Range-11 with the number "
              "of elements as an attribute too, because shapes are static",
          .minInputs = 3,
          .maxInputs = 3,
          .inputNames = {"start", "limit", "delta"},
          .outputNames = {"output"},
          .dataTypes = DataTypes::kNumbers,
          .attributes = {{"length", "int", "required", "max(ceil((limit - start) / delta), 0)"}},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
