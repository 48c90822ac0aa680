// MaxPool and MaxPoolGrad: rows of windows at a time, planes shared among threads. Own kernels, because
// oneDNN's backward pass wants a workspace of its forward pass and leaves open which of equal values wins,
// and what NaN does.
#include <cmath>
#include <limits>

#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/ops/window.h"

namespace msdbg::core::cpu {
namespace {

/// The windows of one output row: the best value of each and its place in the plane.
struct RowOfWindows {
  std::vector<float> best;
  std::vector<std::int32_t> index;
  explicit RowOfWindows(const Window& w) : best(static_cast<std::size_t>(w.outW)), index(best.size()) {}
};

/// Output columns [first, last) whose window has its kernel column `kx` inside the plane.
Span1d columnsWith(const Window& w, std::int64_t kx) {
  const std::int64_t start = w.padLeft - kx;  // x = ox * strideW - start must be in [0, inW)
  const std::int64_t first = start <= 0 ? 0 : (start + w.strideW - 1) / w.strideW;
  const std::int64_t last = w.inW - 1 + start < 0 ? 0 : (w.inW - 1 + start) / w.strideW + 1;
  return {first, std::min(last, w.outW)};
}

void findMaxima(const Window& w, const float* plane, std::int64_t oy, RowOfWindows& row) {
  const Span1d rows = coveredRows(w, oy);
  for (std::int64_t ox = 0; ox < w.outW; ++ox) {
    const std::int64_t at = rows.first * w.inW + coveredColumns(w, ox).first;
    row.best[static_cast<std::size_t>(ox)] = plane[at];
    row.index[static_cast<std::size_t>(ox)] = static_cast<std::int32_t>(at);
  }
  for (std::int64_t y = rows.first; y < rows.last; ++y) {
    for (std::int64_t kx = 0; kx < w.kernelW; ++kx) {
      const Span1d columns = columnsWith(w, kx);
      if (columns.first >= columns.last) continue;
      const std::int64_t at = y * w.inW + columns.first * w.strideW - w.padLeft + kx;
      poolRowTile(plane + at, static_cast<std::int32_t>(at), static_cast<std::int32_t>(w.strideW),
                  row.best.data() + columns.first, row.index.data() + columns.first,
                  columns.last - columns.first);
    }
  }
}

void poolPlane(const Window& w, const float* x, RowOfWindows& row, float* y) {
  for (std::int64_t oy = 0; oy < w.outH; ++oy) {
    findMaxima(w, x, oy, row);
    std::copy(row.best.begin(), row.best.end(), y + oy * w.outW);
  }
}

/// Windows that overlap may share a maximum: sums in window order, in double as the reference does.
void routePlane(const Window& w, const float* x, const float* dy, RowOfWindows& row,
                std::vector<double>& sums, float* dx) {
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::int64_t oy = 0; oy < w.outH; ++oy) {
    findMaxima(w, x, oy, row);
    for (std::int64_t ox = 0; ox < w.outW; ++ox)
      sums[static_cast<std::size_t>(row.index[static_cast<std::size_t>(ox)])] +=
          static_cast<double>(dy[oy * w.outW + ox]);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) dx[i] = static_cast<float>(sums[i]);
}

/// 2 x 2 windows that cover the plane and do not overlap: the usual ones have loops of their own.
bool isHalving(const Window& w) {
  return w.kernelH == 2 && w.kernelW == 2 && w.strideH == 2 && w.strideW == 2 && w.padTop == 0 &&
         w.padLeft == 0 && w.inH == 2 * w.outH && w.inW == 2 * w.outW;
}
void halvePlanes(const Window& w, const float* x, std::int64_t planes, float* y) {
  for (std::int64_t row = 0; row < planes * w.outH; ++row)
    maxOfPairsTile(x + row * 2 * w.inW, w.inW, y + row * w.outW, w.outW);
}
void routeHalved(const Window& w, const float* x, const float* dy, std::int64_t planes, float* dx) {
  for (std::int64_t row = 0; row < planes * w.outH; ++row)
    routePairsTile(x + row * 2 * w.inW, w.inW, dy + row * w.outW, dx + row * 2 * w.inW, w.outW);
}

Result<Window> windowOf(const CompileRequest& r) {
  const Shape& x = r.input(0).shape;
  return makeWindow(r.node.opType, r.node.attributes, x[2], x[3]);
}

/// f(plane, row) for every plane.
template <typename F>
void forPlanes(const Window& w, std::int64_t planes, int threads, const F& f) {
  const std::int64_t work = planes * w.outPlane() * w.kernelPlane();
  parallelRanges(planes, 1, threads, work, [&](std::int64_t begin, std::int64_t end) {
    RowOfWindows row(w);
    f(begin, end, row);
  });
}

std::string objection(const Result<Window>& w) {
  if (!w) return w.error().message();
  if (w->dilationH != 1 || w->dilationW != 1) return "dilated windows are rare";
  return w->inPlane() > std::numeric_limits<std::int32_t>::max() ? "the plane has more than 2^31 elements"
                                                                 : "";
}

}  // namespace

Backend::Answer maxPoolKernel(const CompileRequest& r) {
  const Result<Window> window = windowOf(r);
  if (std::string why = objection(window); !why.empty()) return decline(std::move(why));
  const std::int64_t planes = r.input(0).shape[0] * r.input(0).shape[1];
  return functionKernel(r, [w = *window, planes, threads = r.threads](const KernelArgs& args) -> Status {
    const float* x = args.inputs[0]->data<float>().data();
    float* y = args.outputs[0]->data<float>().data();
    forPlanes(w, planes, threads, [&](std::int64_t begin, std::int64_t end, RowOfWindows& row) {
      if (isHalving(w)) return halvePlanes(w, x + begin * w.inPlane(), end - begin, y + begin * w.outPlane());
      for (std::int64_t p = begin; p < end; ++p) poolPlane(w, x + p * w.inPlane(), row, y + p * w.outPlane());
    });
    return Ok{};
  });
}

Backend::Answer maxPoolGradKernel(const CompileRequest& r) {
  const Result<Window> window = windowOf(r);
  if (std::string why = objection(window); !why.empty()) return decline(std::move(why));
  const std::int64_t planes = r.input(0).shape[0] * r.input(0).shape[1];
  return functionKernel(r, [w = *window, planes, threads = r.threads](const KernelArgs& args) -> Status {
    const float* x = args.inputs[0]->data<float>().data();
    const float* dy = args.inputs[2]->data<float>().data();
    float* dx = args.outputs[0]->data<float>().data();
    forPlanes(w, planes, threads, [&](std::int64_t begin, std::int64_t end, RowOfWindows& row) {
      if (isHalving(w))
        return routeHalved(w, x + begin * w.inPlane(), dy + begin * w.outPlane(), end - begin,
                           dx + begin * w.inPlane());
      std::vector<double> sums(static_cast<std::size_t>(w.inPlane()));
      for (std::int64_t p = begin; p < end; ++p)
        routePlane(w, x + p * w.inPlane(), dy + p * w.outPlane(), row, sums, dx + p * w.inPlane());
    });
    return Ok{};
  });
}

}  // namespace msdbg::core::cpu
