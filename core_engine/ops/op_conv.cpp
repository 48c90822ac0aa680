// Conv: y[n, o, i, j] = b[o] + sum over c, r, s of x[n, c, i*stride + r*dilation - pad, …] * w[o, c,
// r, s]. Products with padding are computed as 0 * w, so that a NaN in w reaches every position of its
// filter. Fast kernels may leave them out; only positions at the border differ, and only when w is not
// finite.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/conv_reference.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs("Conv", inputs, {"X", "W", "B"}, 2));
  MSDBG_TRY(checkRank("Conv", "X", inputs[0], 4));
  MSDBG_TRY(checkRank("Conv", "W", inputs[1], 4));
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  if (auto group = checkConvGroup("Conv", x, w, attributes); !group) return group.error();
  if (inputs.size() > 2) MSDBG_TRY(checkShape("Conv", "B", inputs[2], Shape{w[0]}));
  MSDBG_ASSIGN(const Window window, makeWindow("Conv", attributes, x[2], x[3], w[2], w[3]));
  return std::vector<TensorType>{{inputs[0].dtype, Shape{x[0], w[0], window.outH, window.outW}}};
}

std::vector<std::optional<Value>> gradient(GradientBuilder& b) {
  const Attributes attributes = b.forward().attributes;
  const Value dy = *b.outputGradient(0);
  std::vector<std::optional<Value>> gradients(b.forward().inputs.size());
  if (b.wanted(0)) {
    gradients[0] = b.apply1("ConvGradInput", {dy, b.input(1)}, with(attributes, "shape", b.input(0).shape()));
  }
  if (b.wanted(1)) {
    const Shape w = b.input(1).shape();
    gradients[1] =
        b.apply1("ConvGradWeight", {dy, b.input(0)}, with(attributes, "kernel_shape", Shape{w[2], w[3]}));
  }
  if (b.wanted(2))
    gradients[2] = b.apply1("ReduceSum", {dy}, {{"axes", Ints{0, 2, 3}}, {"keepdims", std::int64_t{0}}});
  return gradients;
}

/// sums [filter][image][position] + bias -> y [image][filter][position] of a group of images
template <typename T>
void storeGroup(const ConvSizes& s, const ImageGroup& group, const double* sums, const T* bias, T* y) {
  const std::int64_t plane = s.window.outPlane();
  for (std::int64_t o = 0; o < s.filters; ++o) {
    const double offset = bias ? static_cast<double>(bias[o]) : 0.0;
    for (std::int64_t image = group.first; image < group.first + group.count; ++image, sums += plane)
      for (std::int64_t i = 0; i < plane; ++i)
        y[image * s.imageOut() + o * plane + i] = static_cast<T>(sums[i] + offset);
  }
}

/// One group of channels and its filters.
template <typename T>
void convolve(const KernelArgs& args, const ConvSizes& s, std::int64_t convGroup) {
  const T* x = args.inputs[0]->data<T>().data() + convGroup * s.channels * s.window.inPlane();
  T* y = args.outputs[0]->data<T>().data() + convGroup * s.filters * s.window.outPlane();
  const T* bias = args.inputs.size() > 2 ? args.inputs[2]->data<T>().data() + convGroup * s.filters : nullptr;
  const MatrixView<T> weight{args.inputs[1]->data<T>().data() + convGroup * s.filters * s.depth(), s.depth(),
                             1};
  parallelFor(s.groups(), args.state.threads, 2, [&](std::int64_t at) {
    const ImageGroup group = imageGroup(s, at);
    const std::int64_t width = group.count * s.window.outPlane();
    std::vector<T> columns(s.depth() * width);
    std::vector<double> sums(s.filters * width, 0.0);
    imagesToColumns(s, x, group, 0, s.depth(), columns.data());
    gemmAccumulate(s.filters, width, s.depth(), weight, {columns.data(), width, 1}, sums.data(), width, 1);
    storeGroup(s, group, sums.data(), bias, y);
  });
}

Status reference(const KernelArgs& args) {
  const ConvSizes s = convSizes(args.inputs[0]->shape(), args.inputs[1]->shape(), args.node.attributes);
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    for (std::int64_t g = 0; g < s.convGroups; ++g) convolve<decltype(zero)>(args, s, g);
  });
  return Ok{};
}

std::int64_t flops(const Graph& graph, const Node& node) {
  const Shape& w = graph.tensor(node.inputs[1]).shape;
  return 2 * graph.tensor(node.outputs[0]).shape.elements() * w[1] * w[2] * w[3];
}

}  // namespace

OpDef convOp() {
  return {.name = "Conv",
          .doc =
              "2-D convolution, NCHW: y[n,o,i,j] = B[o] + sum over c,r,s of "
              "X[n,c,i*stride+r*dilation-pad,j*stride+s*dilation-pad] * W[o,c,r,s]; with groups, c runs over "
              "the channels of o's group. ONNX Conv-11",
          .minInputs = 2,
          .maxInputs = 3,
          .inputNames = {"X", "W", "B"},
          .outputNames = {"Y"},
          .attributes = convAttributes("that of W"),
          .infer = infer,
          .gradient = gradient,
          .reference = reference,
          .flops = flops};
}

}  // namespace msdbg::core
