// OneHot: for every index a row of `off` with `on` at the index.
#include <cmath>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"
#include "core_engine/ops/onnx_dtype.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "OneHot";

std::int64_t dtypeNumber(const Attributes& attributes) {
  return intAttribute(attributes, "to", onnxNumber(DType::Float32));
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs(kName, inputs, {"indices"}));
  if (inputs[0].dtype == DType::Bool)
    return inferError(kName, describeInput("indices", inputs[0]) + ", but numbers were expected");
  const std::int64_t depth = intAttribute(attributes, "depth", 0);
  if (depth < 1)
    return inferError(kName, "attribute depth is " + std::to_string(depth) + ", but it must be positive");
  const std::optional<DType> to = dtypeFromOnnx(dtypeNumber(attributes));
  if (!to)
    return inferError(
        kName, "attribute to is " + std::to_string(dtypeNumber(attributes)) + ", which is no dtype's number");
  if (!isComputed(*to)) return inferError(kName, notComputed(*to));
  Ints dims = intsOf(inputs[0].shape);
  MSDBG_ASSIGN(const std::size_t axis,
               checkAxis(kName, intAttribute(attributes, "axis", -1), dims.size() + 1));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  Shape shape(std::move(dims));
  MSDBG_TRY(checkSize(kName, "the result", shape));
  return std::vector<TensorType>{{*to, shape}};
}

/// The place of an index in its row; -1 where it has none.
std::int64_t placeOf(double index, std::int64_t depth) {
  const double whole = std::trunc(index), size = static_cast<double>(depth);
  if (!(whole >= -size && whole < size)) return -1;
  return static_cast<std::int64_t>(whole < 0 ? whole + size : whole);
}

template <typename T>
void run(const KernelArgs& args, std::int64_t depth, std::int64_t inner) {
  const Tensor& indices = *args.inputs[0];
  const auto on = static_cast<T>(floatAttribute(args.node.attributes, "on", 1)),
             off = static_cast<T>(floatAttribute(args.node.attributes, "off", 0));
  T* y = args.outputs[0]->data<T>().data();
  parallelFor(indices.elements(), args.state.threads, 256, [&](std::int64_t i) {
    T* row = y + i / inner * depth * inner + i % inner;
    const std::int64_t at = placeOf(indices.at(i), depth);
    for (std::int64_t d = 0; d < depth; ++d) row[d * inner] = d == at ? on : off;
  });
}

Status reference(const KernelArgs& args) {
  const Shape& shape = args.outputs[0]->shape();
  const std::size_t axis =
      checkAxis(kName, intAttribute(args.node.attributes, "axis", -1), shape.rank()).value();
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  visitComputed(args.outputs[0]->dtype(), [&](auto zero) { run<decltype(zero)>(args, shape[axis], inner); });
  return Ok{};
}

}  // namespace

OpDef oneHotOp() {
  return {.name = kName,
          .doc =
              "For every index a row of depth elements, off but for on at the index; negative indices count "
              "from the end, one outside [-depth, depth) gives a row of off. ONNX OneHot-11 with depth and "
              "the two values as attributes",
          .inputNames = {"indices"},
          .outputNames = {"output"},
          .dataTypes = DataTypes::kNumbers,
          .attributes = {{"depth", "int", "required", "how long the rows are"},
                         {"axis", "int", "-1", "the dimension of the rows in the result"},
                         {"off", "float", "0", "what the rows are filled with"},
                         {"on", "float", "1", "what is at the index"},
                         {"to", "int", "1", "dtype of the result, by ONNX's number as in Cast"}},
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
