// Conv and its gradients. Tensors are reordered into oneDNN's blocked formats and back: on alexnet's shapes
// that costs 2 to 5 % of the convolution, while oneDNN's kernels for plain NCHW reach only half the speed.
// Activations that lie blocked already (plan/layout.cpp) are taken as they are.
#include <algorithm>

#include "core_engine/cpu/dnnl_internal.h"
#include "core_engine/ops/window.h"

namespace msdbg::core::cpu {
namespace {

using dnnl::memory;

struct ConvDescription {
  Shape x, weight /* [group, filters, channels, h, w] where there are groups */, y;
  memory::dims strides, dilations /* 0: neighbours */, padsBefore, padsAfter;
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
  std::string suffix() const { return algorithm == dnnl::algorithm::convolution_winograd ? ":winograd" : ""; }
};

/// The weight as oneDNN has it: groups are a dimension of their own. The bytes stay.
Shape groupedWeight(const Shape& w, std::int64_t group) {
  return group == 1 ? w : Shape{group, w[0] / group, w[1], w[2], w[3]};
}

Result<ConvDescription> describe(const CompileRequest& r, const Shape& x, const Shape& weight,
                                 const Shape& y) {
  MSDBG_ASSIGN(const Window w,
               makeWindow(r.node.opType, r.node.attributes, x[2], x[3], weight[2], weight[3]));
  return ConvDescription{x,
                         groupedWeight(weight, intAttribute(r.node.attributes, "group", 1)),
                         y,
                         {w.strideH, w.strideW},
                         {w.dilationH - 1, w.dilationW - 1},
                         {w.padTop, w.padLeft},
                         {w.padBottom, w.padRight}};
}

/// Winograd's F(4x4, 3x3) needs a quarter of the multiplications and rounds some ten times worse. From so
/// many channels on it is 1.2 to 3.9 times as fast (PERFORMANCE.md). The forward pass waits for more of them:
/// its rounding decides on which side of zero a Relu falls, and that changes gradients by far more than
/// rounding does. Chosen by operator and shapes alone, and recorded in the kernel's name.
std::int64_t fewestForWinograd(std::string_view opType) {
  if (opType == "Conv") return 128;
  return opType == "ConvGradInput" ? 32 : 16;
}
bool suitsWinograd(const ConvDescription& d, std::string_view opType) {
  const std::int64_t fewest = fewestForWinograd(opType);
  const Shape& w = d.weight;
  return w.rank() == 4 && w[2] == 3 && w[3] == 3 && std::max(w[0], w[1]) >= fewest &&
         std::min(w[0], w[1]) >= std::min<std::int64_t>(fewest, 32) && w[0] % kChannelBlock == 0 &&
         w[1] % kChannelBlock == 0 && d.strides == memory::dims{1, 1} && d.dilations == memory::dims{0, 0};
}

dnnl::convolution_forward::primitive_desc forward(const CompileRequest& r, const ConvDescription& d,
                                                  const Shape* bias) {
  const auto training = dnnl::prop_kind::forward_training;
  const memory::desc x = anyFormat(d.x), w = anyFormat(d.weight), y = anyFormat(d.y);
  const dnnl::convolution_forward::desc description =
      bias ? dnnl::convolution_forward::desc(training, d.algorithm, x, w, rowMajor(*bias), y, d.strides,
                                             d.dilations, d.padsBefore, d.padsAfter)
           : dnnl::convolution_forward::desc(training, d.algorithm, x, w, y, d.strides, d.dilations,
                                             d.padsBefore, d.padsAfter);
  return {description, userScratchpad(), r.dnnl->engine()};
}

Backend::Answer makeForward(const CompileRequest& r, const ConvDescription& d) {
  const Shape* bias = r.hasInput(2) ? &r.input(2).shape : nullptr;
  const auto p = forward(r, d, bias);
  std::vector<DnnlArgument> arguments{{DNNL_ARG_SRC, false, 0, lyingAs(d.x, r.inputLayout(0)), p.src_desc()},
                                      {DNNL_ARG_WEIGHTS, false, 1, rowMajor(d.weight), p.weights_desc()},
                                      {DNNL_ARG_DST, true, 0, lyingAs(d.y, r.outputLayout()), p.dst_desc()}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, false, 2, rowMajor(*bias), p.bias_desc()});
  return dnnlKernel(r, dnnl::convolution_forward(p), p.impl_info_str(), p.scratchpad_desc(),
                    std::move(arguments), d.suffix());
}

Backend::Answer makeGradInput(const CompileRequest& r, const ConvDescription& d) {
  const dnnl::convolution_backward_data::desc description(d.algorithm, anyFormat(d.x), anyFormat(d.weight),
                                                          anyFormat(d.y), d.strides, d.dilations,
                                                          d.padsBefore, d.padsAfter);
  const dnnl::convolution_backward_data::primitive_desc p(description, userScratchpad(), r.dnnl->engine(),
                                                          forward(r, d, nullptr));
  return dnnlKernel(r, dnnl::convolution_backward_data(p), p.impl_info_str(), p.scratchpad_desc(),
                    {{DNNL_ARG_DIFF_DST, false, 0, lyingAs(d.y, r.inputLayout(0)), p.diff_dst_desc()},
                     {DNNL_ARG_WEIGHTS, false, 1, rowMajor(d.weight), p.weights_desc()},
                     {DNNL_ARG_DIFF_SRC, true, 0, lyingAs(d.x, r.outputLayout()), p.diff_src_desc()}},
                    d.suffix());
}

Backend::Answer makeGradWeight(const CompileRequest& r, const ConvDescription& d) {
  const dnnl::convolution_backward_weights::desc description(d.algorithm, anyFormat(d.x), anyFormat(d.weight),
                                                             anyFormat(d.y), d.strides, d.dilations,
                                                             d.padsBefore, d.padsAfter);
  const dnnl::convolution_backward_weights::primitive_desc p(description, userScratchpad(), r.dnnl->engine(),
                                                             forward(r, d, nullptr));
  return dnnlKernel(r, dnnl::convolution_backward_weights(p), p.impl_info_str(), p.scratchpad_desc(),
                    {{DNNL_ARG_DIFF_DST, false, 0, lyingAs(d.y, r.inputLayout(0)), p.diff_dst_desc()},
                     {DNNL_ARG_SRC, false, 1, lyingAs(d.x, r.inputLayout(1)), p.src_desc()},
                     {DNNL_ARG_DIFF_WEIGHTS, true, 0, rowMajor(d.weight), p.diff_weights_desc()}},
                    d.suffix());
}

template <typename Make>
Backend::Answer compileConv(const CompileRequest& r, const Shape& x, const Shape& weight, const Shape& y,
                            const Make& make) {
  const Result<ConvDescription> d = describe(r, x, weight, y);
  if (!d) return decline(d.error().message());
  if (suitsWinograd(*d, r.node.opType)) {
    ConvDescription fewer = *d;
    fewer.algorithm = dnnl::algorithm::convolution_winograd;
    Backend::Answer answer = compileDnnl(r, [&] { return make(r, fewer); });
    if (answer.kernel) return answer;  // else this CPU has no such kernel
  }
  return compileDnnl(r, [&] { return make(r, *d); });
}

}  // namespace

Backend::Answer convKernel(const CompileRequest& r) {
  return compileConv(r, r.input(0).shape, r.input(1).shape, r.output().shape, makeForward);
}
Backend::Answer convGradInputKernel(const CompileRequest& r) {
  return compileConv(r, r.output().shape, r.input(1).shape, r.input(0).shape, makeGradInput);
}
Backend::Answer convGradWeightKernel(const CompileRequest& r) {
  return compileConv(r, r.input(1).shape, r.output().shape, r.input(0).shape, makeGradWeight);
}

}  // namespace msdbg::core::cpu
