// Softmax, LogSoftmax and their gradients along the innermost axis. A line is computed by one thread: the
// bits do not depend on the thread count.
#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/softmax_line.h"
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/ops/axis_lines.h"

namespace msdbg::core::cpu {
namespace {

void softmaxLine(const float* x, const float*, float* y, std::int64_t n) {
  shiftedExpTile(x, largestTile(x, n), y, n);
  divideTile(y, static_cast<float>(sumTile(y, n)), n);
}
void softmaxGradLine(const float* dy, const float* y, float* dx, std::int64_t n) {
  softmaxGradTile(dy, y, static_cast<float>(dotTile(dy, y, n)), dx, n);
}
void logSoftmaxOfLine(const float* x, const float*, float* y, std::int64_t n) { logSoftmaxLine(x, y, n); }
void logSoftmaxGradLine(const float* dy, const float* y, float* dx, std::int64_t n) {
  logSoftmaxGradTile(dy, y, static_cast<float>(sumTile(dy, n)), dx, n);
}

/// One or two inputs of the output's shape.
using Line = void (*)(const float* first, const float* second, float* out, std::int64_t n);

Backend::Answer alongLines(const CompileRequest& r, Line line) {
  const Shape& shape = r.output().shape;
  const auto axis = checkAxis(r.node.opType, intAttribute(r.node.attributes, "axis", -1), shape.rank());
  if (!axis) return decline(axis.error().message());
  const AxisLines lines = axisLines(shape, *axis);
  if (lines.inner != 1)
    return decline("axis " + std::to_string(*axis) + " of " + shape.text() + " is not the innermost one");
  return functionKernel(r, [lines, line, threads = r.threads](const KernelArgs& args) -> Status {
    const float* first = args.inputs[0]->data<float>().data();
    const float* second = args.inputs.size() > 1 ? args.inputs[1]->data<float>().data() : first;
    float* out = args.outputs[0]->data<float>().data();
    parallelRanges(lines.outer, 1, threads, lines.outer * lines.length,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t at = begin * lines.length; at < end * lines.length; at += lines.length)
                       line(first + at, second + at, out + at, lines.length);
                   });
    return Ok{};
  });
}

}  // namespace

/// log(sum) as the logarithm of its float32 value plus what rounding to it lost: keeps tiny losses from
/// becoming 0.
void logSoftmaxLine(const float* x, float* y, std::int64_t n) {
  const float largest = largestTile(x, n);
  shiftedExpTile(x, largest, y, n);
  const double sum = sumTile(y, n);
  const float rounded = static_cast<float>(sum);
  const float logSum = vecLog(rounded) + static_cast<float>((sum - static_cast<double>(rounded)) / sum);
  shiftTwiceTile(x, largest, logSum, y, n);
}

Backend::Answer softmaxKernel(const CompileRequest& r) { return alongLines(r, softmaxLine); }
Backend::Answer softmaxGradKernel(const CompileRequest& r) { return alongLines(r, softmaxGradLine); }
Backend::Answer logSoftmaxKernel(const CompileRequest& r) { return alongLines(r, logSoftmaxOfLine); }
Backend::Answer logSoftmaxGradKernel(const CompileRequest& r) { return alongLines(r, logSoftmaxGradLine); }

}  // namespace msdbg::core::cpu
