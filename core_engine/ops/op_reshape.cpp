// Reshape: the same elements in row-major order under another shape.
#include <algorithm>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/copy.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

/// The wanted dimensions with every 0 replaced by the input's own; -1 is left. nullopt: not a valid request.
std::optional<Ints> copiedDims(const Shape& from, Ints dims) {
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0 && d >= from.rank()) return std::nullopt;
    if (dims[d] == 0) dims[d] = from[d];
    if (dims[d] < -1) return std::nullopt;
  }
  if (std::count(dims.begin(), dims.end(), -1) > 1) return std::nullopt;
  return dims;
}

/// Product of all dimensions but -1; nullopt when it exceeds `limit` (which no right answer does).
std::optional<std::int64_t> productUpTo(const Ints& dims, std::int64_t limit) {
  std::int64_t product = 1;
  for (std::int64_t d : dims) {
    if (d == -1) continue;
    if (d > 0 && product > limit / d) return std::nullopt;
    product *= d;
  }
  return product;
}

std::optional<Shape> resolve(const Shape& from, const Ints& wanted) {
  std::optional<Ints> dims = copiedDims(from, wanted);
  if (!dims) return std::nullopt;
  const std::optional<std::int64_t> product = productUpTo(*dims, std::max<std::int64_t>(from.elements(), 1));
  if (!product) return std::nullopt;
  const auto open = std::find(dims->begin(), dims->end(), -1);
  if (open != dims->end()) {
    if (*product == 0 || from.elements() % *product != 0) return std::nullopt;
    *open = from.elements() / *product;
  } else if (*product != from.elements()) {
    return std::nullopt;
  }
  return Shape(std::move(*dims));
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("Reshape", inputs, {"X"}));
  const Ints wanted = intsAttribute(attributes, "shape", {});
  const std::optional<Shape> shape = resolve(inputs[0].shape, wanted);
  if (!shape)
    return inferError("Reshape", describeInput("X", inputs[0]) + ", which cannot become " +
                                     Shape(wanted).text() +
                                     " (0 copies a dimension, one -1 takes what is left)");
  return std::vector<TensorType>{{inputs[0].dtype, *shape}};
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "Reshape", {}, with({}, "shape", b.input(0).shape()));
}

}  // namespace

OpDef reshapeOp() {
  return {
      .name = "Reshape",
      .doc =
          "The same elements, row-major, under another shape. ONNX Reshape-14 with the shape as an attribute",
      .inputNames = {"X"},
      .outputNames = {"Y"},
      .dataTypes = DataTypes::kAny,
      .attributes = {{"shape", "ints", "required",
                      "0 copies the input's dimension, one -1 takes what is left"}},
      .infer = infer,
      .gradient = gradient,
      .reference = copyInput};
}

}  // namespace msdbg::core
