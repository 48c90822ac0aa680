// ConvGradInput: the gradient of Conv with respect to X. Every product dy * w goes back to the element it
// came from.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/conv_reference.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "ConvGradInput";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"dY", "W"}));
  MSDBG_TRY(checkRank(kName, "dY", inputs[0], 4));
  MSDBG_TRY(checkRank(kName, "W", inputs[1], 4));
  const Shape x(intsAttribute(attributes, "shape", {})), w = inputs[1].shape;
  if (x.rank() != 4 || !x.known())
    return inferError(kName, "attribute shape is " + x.text() + ", but that of X [N, C, H, W] was expected");
  MSDBG_TRY(checkSize(kName, "attribute shape", x));
  if (auto group = checkConvGroup(kName, x, w, attributes); !group) return group.error();
  MSDBG_ASSIGN(const Window window, makeWindow(kName, attributes, x[2], x[3], w[2], w[3]));
  MSDBG_TRY(checkShape(kName, "dY", inputs[0], Shape{x[0], w[0], window.outH, window.outW}));
  return std::vector<TensorType>{{inputs[0].dtype, x}};
}

/// Adds one row of column gradients (kernel place r, s) to a plane of the input's gradient.
void addColumnRow(const Window& w, std::int64_t r, std::int64_t s, const double* from, double* plane) {
  const Span1d inside = outputColumnsInside(w, s);
  for (std::int64_t oy = 0; oy < w.outH; ++oy, from += w.outW) {
    const std::int64_t y = oy * w.strideH - w.padTop + r * w.dilationH;
    if (y < 0 || y >= w.inH) continue;
    double* row = plane + y * w.inW - w.padLeft + s * w.dilationW;
    for (std::int64_t ox = inside.first; ox < inside.last; ++ox) row[ox * w.strideW] += from[ox];
  }
}

/// Column gradients of a group -> dx[image][c], places of the kernel in row-major order.
template <typename T>
void columnsToImages(const ConvSizes& s, const ImageGroup& group, const double* columns, T* dx) {
  const Window& w = s.window;
  std::vector<double> plane(w.inPlane());
  for (std::int64_t at = 0; at < group.count * s.channels; ++at) {
    const std::int64_t image = at / s.channels, c = at % s.channels;
    std::fill(plane.begin(), plane.end(), 0.0);
    for (std::int64_t place = 0; place < w.kernelPlane(); ++place) {
      const std::int64_t k = c * w.kernelPlane() + place;
      addColumnRow(w, place / w.kernelW, place % w.kernelW,
                   columns + (k * group.count + image) * w.outPlane(), plane.data());
    }
    T* to = dx + (group.first + image) * s.imageIn() + c * w.inPlane();
    for (std::int64_t i = 0; i < w.inPlane(); ++i) to[i] = static_cast<T>(plane[i]);
  }
}

/// One group of channels and its filters.
template <typename T>
void run(const KernelArgs& args, const ConvSizes& s, std::int64_t convGroup) {
  const T* dy = args.inputs[0]->data<T>().data() + convGroup * s.filters * s.window.outPlane();
  T* dx = args.outputs[0]->data<T>().data() + convGroup * s.channels * s.window.inPlane();
  const MatrixView<T> weight{args.inputs[1]->data<T>().data() + convGroup * s.filters * s.depth(), s.depth(),
                             1};
  parallelFor(s.groups(), args.state.threads, 2, [&](std::int64_t at) {
    const ImageGroup group = imageGroup(s, at);
    const std::int64_t width = group.count * s.window.outPlane();
    std::vector<T> gathered(s.filters * width);
    std::vector<double> columns(s.depth() * width, 0.0);
    gatherFilters(s, dy, group, gathered.data());
    gemmAccumulate(s.depth(), width, s.filters, weight.transposed(), {gathered.data(), width, 1},
                   columns.data(), width, 1);
    columnsToImages(s, group, columns.data(), dx);
  });
}

Status reference(const KernelArgs& args) {
  const ConvSizes s = convSizes(args.outputs[0]->shape(), args.inputs[1]->shape(), args.node.attributes);
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    for (std::int64_t g = 0; g < s.convGroups; ++g) run<decltype(zero)>(args, s, g);
  });
  return Ok{};
}

std::int64_t flops(const Graph& graph, const Node& node) {
  const Shape& w = graph.tensor(node.inputs[1]).shape;
  return 2 * graph.tensor(node.inputs[0]).shape.elements() * w[1] * w[2] * w[3];
}

}  // namespace

OpDef convGradInputOp() {
  std::vector<AttributeDoc> attributes = convAttributes("that of W");
  attributes.push_back({"shape", "ints", "required", "the shape of X"});
  return {.name = kName,
          .doc =
              "Gradient of Conv with respect to X: dX[n,c,i*stride+r*dilation-pad,…] += dY[n,o,i,j] * "
              "W[o,c,r,s]. msdbg",
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"dY", "W"},
          .outputNames = {"dX"},
          .attributes = attributes,
          .infer = infer,
          .reference = reference,
          .flops = flops};
}

}  // namespace msdbg::core
