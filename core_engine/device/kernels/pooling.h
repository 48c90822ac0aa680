// MaxPool and its gradient, as core_engine/cpu/max_pool.cpp: NaN beats everything, the earlier of equals
// wins, gradients of windows that share a maximum are summed in the windows' order, in double. No dilation.
#pragma once

#include "core_engine/device/kernels/elementwise.h"
#include "core_engine/device/kernels/parameters.h"

namespace msdbg::core::device {

/// Where the best value of a window lies in its plane; windows reach into the plane.
MSDBG_DEVICE std::int64_t bestOf(const PoolParameters& p, const float* plane, std::int64_t oy,
                                 std::int64_t ox) {
  const std::int64_t top = oy * p.strideH - p.padTop, left = ox * p.strideW - p.padLeft;
  const std::int64_t firstY = top < 0 ? 0 : top, firstX = left < 0 ? 0 : left;
  const std::int64_t lastY = top + p.kernelH < p.inH ? top + p.kernelH : p.inH,
                     lastX = left + p.kernelW < p.inW ? left + p.kernelW : p.inW;
  std::int64_t at = firstY * p.inW + firstX;
  float best = plane[at];
  for (std::int64_t y = firstY; y < lastY; ++y)
    for (std::int64_t x = firstX; x < lastX; ++x)
      if (beats(plane[y * p.inW + x], best)) {
        at = y * p.inW + x;
        best = plane[at];
      }
  return at;
}

MSDBG_KERNEL(max_pool, PoolParameters) {
  const std::int64_t outPlane = p.outH * p.outW;
  for (std::int64_t i = globalThread(); i < p.planes * outPlane; i += allThreads()) {
    const Divided at = divided(i, outPlane), place = divided(at.rest, p.outW);
    const float* plane = p.x + at.quotient * p.inH * p.inW;
    p.y[i] = plane[bestOf(p, plane, place.quotient, place.rest)];
  }
}

/// A thread an element of x: of the windows that reach it, those whose best it is.
MSDBG_KERNEL(max_pool_grad, PoolParameters) {
  const std::int64_t inPlane = p.inH * p.inW, outPlane = p.outH * p.outW;
  for (std::int64_t i = globalThread(); i < p.planes * inPlane; i += allThreads()) {
    const Divided inside = divided(i, inPlane), place = divided(inside.rest, p.inW);
    const std::int64_t plane = inside.quotient, at = inside.rest, y = place.quotient + p.padTop,
                       x = place.rest + p.padLeft;
    const std::int64_t firstY = y < p.kernelH ? 0 : (y - p.kernelH) / p.strideH + 1,
                       firstX = x < p.kernelW ? 0 : (x - p.kernelW) / p.strideW + 1;
    double sum = 0;
    for (std::int64_t oy = firstY; oy <= y / p.strideH && oy < p.outH; ++oy)
      for (std::int64_t ox = firstX; ox <= x / p.strideW && ox < p.outW; ++ox)
        if (bestOf(p, p.x + plane * inPlane, oy, ox) == at)
          sum += static_cast<double>(p.dy[plane * outPlane + oy * p.outW + ox]);
    p.dx[i] = static_cast<float>(sum);
  }
}

}  // namespace msdbg::core::device
