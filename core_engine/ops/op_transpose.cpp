// Transpose: dimension d of the result is dimension perm[d] of the input.
#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Ints permutation(const Attributes& attributes, std::size_t rank) {
  Ints reversed(rank);
  for (std::size_t d = 0; d < rank; ++d) reversed[d] = static_cast<std::int64_t>(rank - 1 - d);
  const Ints given = intsAttribute(attributes, "perm", {});
  return given.empty() ? reversed : given;
}

bool isPermutation(const Ints& perm, std::size_t rank) {
  if (perm.size() != rank) return false;
  std::vector<bool> seen(rank, false);
  for (std::int64_t p : perm) {
    if (p < 0 || p >= static_cast<std::int64_t>(rank) || seen[static_cast<std::size_t>(p)]) return false;
    seen[static_cast<std::size_t>(p)] = true;
  }
  return true;
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("Transpose", inputs, {"X"}));
  const Shape& x = inputs[0].shape;
  const Ints perm = permutation(attributes, x.rank());
  if (!isPermutation(perm, x.rank()))
    return inferError("Transpose", "attribute perm is " + Shape(perm).text() + ", but a permutation of the " +
                                       std::to_string(x.rank()) + " dimensions of X " + x.text() +
                                       " was expected");
  Ints dims(x.rank());
  for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = x[static_cast<std::size_t>(perm[d])];
  return std::vector<TensorType>{{inputs[0].dtype, Shape(std::move(dims))}};
}

Gradients gradient(GradientBuilder& b) {
  const Ints perm = permutation(b.forward().attributes, b.input(0).shape().rank());
  Ints inverse(perm.size());
  for (std::size_t d = 0; d < perm.size(); ++d)
    inverse[static_cast<std::size_t>(perm[d])] = static_cast<std::int64_t>(d);
  return unaryGradient(b, "Transpose", {}, {{"perm", inverse}});
}

Status reference(const KernelArgs& args) {
  const Shape& out = args.outputs[0]->shape();
  const Ints perm = permutation(args.node.attributes, out.rank());
  const Ints own = args.inputs[0]->shape().strides();
  Ints strides(out.rank());
  for (std::size_t d = 0; d < strides.size(); ++d) strides[d] = own[static_cast<std::size_t>(perm[d])];
  visitComputed(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = args.inputs[0]->data<T>();
    const auto y = args.outputs[0]->data<T>();
    parallelFor(out.elements(), args.state.threads,
                [&](std::int64_t i) { y[i] = x[stridedOffset(i, out.dims(), strides)]; });
  });
  return Ok{};
}

}  // namespace

OpDef transposeOp() {
  return {.name = "Transpose",
          .doc = "Dimension d of Y is dimension perm[d] of X, any dtype. ONNX Transpose-13",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .dataTypes = DataTypes::kAny,
          .attributes = {{"perm", "ints", "reversed", "a permutation of the dimensions"}},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
