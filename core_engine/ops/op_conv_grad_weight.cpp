// ConvGradWeight: the gradient of Conv with respect to W, summed over images and positions in row-major
// order.
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
  const std::int64_t group = intAttribute(attributes, "group", 1);
  if (group < 1 || x[1] % group != 0 || dy[1] % group != 0)
    return inferError(kName, "attribute group is " + std::to_string(group) +
                                 ", but a divisor of the channels of X " + x.text() + " and of dY " +
                                 dy.text() + " was expected");
  MSDBG_ASSIGN(const Window window, makeWindow(kName, attributes, x[2], x[3]));
  MSDBG_TRY(checkShape(kName, "dY", inputs[0], Shape{x[0], dy[1], window.outH, window.outW}));
  return std::vector<TensorType>{
      {inputs[0].dtype, Shape{dy[1], x[1] / group, window.kernelH, window.kernelW}}};
}

/// Columns [first, first + count) of a group's dW seen as a matrix [filters, depth], over all images in
/// order.
template <typename T>
void runColumns(const KernelArgs& args, const ConvSizes& s, std::int64_t convGroup, std::int64_t first,
                std::int64_t count) {
  const T* dy = args.inputs[0]->data<T>().data() + convGroup * s.filters * s.window.outPlane();
  const T* x = args.inputs[1]->data<T>().data() + convGroup * s.channels * s.window.inPlane();
  const std::int64_t most = s.groupImages() * s.window.outPlane();
  std::vector<double> sums(s.filters * count, 0.0);
  std::vector<T> columns(count * most), gathered(s.filters * most);
  for (std::int64_t at = 0; at < s.groups(); ++at) {
    const ImageGroup group = imageGroup(s, at);
    const std::int64_t width = group.count * s.window.outPlane();
    gatherFilters(s, dy, group, gathered.data());
    imagesToColumns(s, x, group, first, count, columns.data());
    gemmAccumulate<T>(s.filters, count, width, {gathered.data(), width, 1}, {columns.data(), 1, width},
                      sums.data(), count, 1);
  }
  T* dw = args.outputs[0]->data<T>().data() + convGroup * s.filters * s.depth();
  for (std::int64_t i = 0; i < s.filters * count; ++i)
    dw[i / count * s.depth() + first + i % count] = static_cast<T>(sums[i]);
}

/// Each thread has columns of its own, so the order of summation does not depend on their number.
template <typename T>
void run(const KernelArgs& args) {
  const ConvSizes s = convSizes(args.inputs[1]->shape(), args.outputs[0]->shape(), args.node.attributes);
  const std::int64_t parts = args.state.threads;
  parallelFor(parts, args.state.threads, 2, [&](std::int64_t part) {
    const std::int64_t first = s.depth() * part / parts, last = s.depth() * (part + 1) / parts;
    for (std::int64_t g = 0; g < s.convGroups && first < last; ++g)
      runColumns<T>(args, s, g, first, last - first);
  });
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
          .doc =
              "Gradient of Conv with respect to W: dW[o,c,r,s] = sum over n,i,j of dY[n,o,i,j] * "
              "X[n,c,i*stride+r*dilation-pad,…]. msdbg",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"dY", "X"},
          .outputNames = {"dW"},
          .attributes = convAttributes("required"),
          .infer = infer,
          .reference = reference,
          .flops = flops};
}

}  // namespace msdbg::core
