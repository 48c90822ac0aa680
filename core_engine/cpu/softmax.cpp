// Softmax, LogSoftmax and their gradients along the innermost axis. A line is computed by one thread: the
// bits do not depend on the thread count.
#include "core_engine/cpu/softmax_line.h"
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/cpu/tile_op.h"
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

TileAnswer alongLines(const CompileRequest& r, Line line) {
  const Shape& shape = r.output().shape;
  const auto axis = checkAxis(r.node.opType, intAttribute(r.node.attributes, "axis", -1), shape.rank());
  if (!axis) return noTiles(axis.error().message());
  const AxisLines lines = axisLines(shape, *axis);
  if (lines.inner != 1)
    return noTiles("axis " + std::to_string(*axis) + " of " + shape.text() + " is not the innermost one");
  return {TileOp{{lines.length, std::vector<bool>(r.node.inputs.size(), true)},
                 [line, n = lines.length](const TilePart& part) {
                   const float *first = part.in[0], *second = part.in.size() > 1 ? part.in[1] : first;
                   for (std::int64_t at = 0; at < part.count(); at += n)
                     line(first + at, second + at, part.out + at, n);
                 }},
          ""};
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

TileAnswer softmaxTiles(const CompileRequest& r) { return alongLines(r, softmaxLine); }
TileAnswer softmaxGradTiles(const CompileRequest& r) { return alongLines(r, softmaxGradLine); }
TileAnswer logSoftmaxTiles(const CompileRequest& r) { return alongLines(r, logSoftmaxOfLine); }
TileAnswer logSoftmaxGradTiles(const CompileRequest& r) { return alongLines(r, logSoftmaxGradLine); }

}  // namespace msdbg::core::cpu
