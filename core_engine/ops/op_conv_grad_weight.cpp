// ConvGradWeight: the gradient of Conv with respect to W, summed over images and positions in row-major order.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/conv_reference.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "ConvGradWeight";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"dY", "X"}));
  MSDBG_TRY(checkRank(kName, "dY", inputs[0], 4));
  MSDBG_TRY(checkRank(kName, "X", inputs[1], 4));
  const Shape &dy = inputs[0].shape, &x = inputs[1].shape;
  MSDBG_ASSIGN(const Window window, makeWindow(kName, attributes, x[2], x[3]));
  MSDBG_TRY(checkShape(kName, "dY", inputs[0], Shape{x[0], dy[1], window.outH, window.outW}));
  return std::vector<TensorType>{{inputs[0].dtype, Shape{dy[1], x[1], window.kernelH, window.kernelW}}};
}

template <typename T>
void run(const KernelArgs& args) {
  const ConvSizes s = convSizes(args.inputs[1]->shape(), args.outputs[0]->shape(), args.node.attributes);
  const T* dy = args.inputs[0]->data<T>().data();
  const T* x = args.inputs[1]->data<T>().data();
  const std::int64_t plane = s.window.outPlane();
  std::vector<double> sums(s.filters * s.depth(), 0.0);
  std::vector<T> columns(s.depth() * s.groupImages() * plane), gathered(s.filters * s.groupImages() * plane);
  forImageGroups(s, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t width = count * plane;
    gatherChannels(dy, s.filters, plane, first, count, gathered.data());
    imagesToColumns(s, x, first, count, args.state.threads, columns.data());
    gemmAccumulate<T>(s.filters, s.depth(), width, {gathered.data(), width, 1}, {columns.data(), 1, width}, sums.data(),
                      s.depth(), args.state.threads);
  });
  const auto dw = args.outputs[0]->data<T>();
  for (std::size_t i = 0; i < sums.size(); ++i) dw[i] = static_cast<T>(sums[i]);
}

Status reference(const KernelArgs& args) {
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) { run<decltype(zero)>(args); });
  return Ok{};
}

std::int64_t flops(const Graph& graph, const Node& node) {
  const Shape& w = graph.tensor(node.outputs[0]).shape;
  return 2 * graph.tensor(node.inputs[0]).shape.elements() * w[1] * w[2] * w[3];
}

}  // namespace

OpDef convGradWeightOp() {
  return {.name = kName,
          .doc = "Gradient of Conv with respect to W: dW[o,c,r,s] = sum over n,i,j of dY[n,o,i,j] * "
                 "X[n,c,i*stride+r-pad,j*stride+s-pad]. msdbg",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"dY", "X"},
          .outputNames = {"dW"},
          .attributes = {{"kernel_shape", "ints", "required", "[height, width] of W"},
                         {"strides", "ints", "[1,1]", "as in Conv"},
                         {"pads", "ints", "[0,0,0,0]", "as in Conv"}},
          .infer = infer,
          .reference = reference,
          .flops = flops};
}

}  // namespace msdbg::core
