// GlobalAveragePool: the mean of every plane.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/reduction.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "GlobalAveragePool";

Ints spatialAxes(std::size_t rank) {
  Ints axes;
  for (std::size_t d = 2; d < rank; ++d) axes.push_back(static_cast<std::int64_t>(d));
  return axes;
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"X"}));
  Shape shape = inputs[0].shape;
  if (shape.rank() < 3)
    return inferError(kName, describeInput("X", inputs[0]) + ", but [N, C, …] with planes was expected");
  for (std::size_t d = 2; d < shape.rank(); ++d) shape[d] = 1;
  return std::vector<TensorType>{{inputs[0].dtype, shape}};
}

Gradients gradient(GradientBuilder& b) {
  const Shape x = b.input(0).shape();
  return unaryGradient(b, "ReduceMeanGrad", {}, with({{"axes", spatialAxes(x.rank())}}, "shape", x));
}

Status reference(const KernelArgs& args) {
  const Shape& shape = args.inputs[0]->shape();
  std::vector<bool> reduced(shape.rank(), true);
  reduced[0] = reduced[1] = false;
  return reduceBy(args, planReduction(shape, reduced), true);
}

}  // namespace

OpDef globalAveragePoolOp() {
  return {.name = kName,
          .doc =
              "Y [N,C,1,1] = the mean of every plane of X [N,C,H,W] (any number of dimensions). ONNX "
              "GlobalAveragePool-1",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

}  // namespace msdbg::core
