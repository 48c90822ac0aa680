#include "core_engine/cuda/check.h"

namespace msdbg::core::device::check {
namespace {

using Shape = ConvolutionShape;
using What = Shape::What;

// Winograd rounds some ten times worse than a plain sum; TF32 would be 1e-4 and more.
constexpr double kTolerance = 5e-5;

const char* nameOf(What what) {
  return what == What::kForward         ? "convolution"
         : what == What::kInputGradient ? "input gradient"
                                        : "weight gradient";
}

std::string textOf(const Shape& s) {
  const auto pair = [](std::int64_t a, std::int64_t b) {
    return std::to_string(a) + " x " + std::to_string(b);
  };
  return std::string(nameOf(s.what)) + " " + std::to_string(s.images) + " x " + std::to_string(s.channels) +
         " x " + pair(s.inH, s.inW) + " with " + std::to_string(s.outputs) + " of " +
         pair(s.kernelH, s.kernelW) + ", stride " + pair(s.strideH, s.strideW) + ", pad " +
         pair(s.padTop, s.padLeft) + ", dilation " + pair(s.dilationH, s.dilationW) + ", groups " +
         std::to_string(s.groups) + (s.bias ? " + bias" : "");
}

/// Calls with the places in x, w and y of each product of the convolution.
template <typename Visit>
void eachProduct(const Shape& s, Visit visit) {
  const std::int64_t inGroup = s.channels / s.groups, outGroup = s.outputs / s.groups;
  for (std::int64_t y = 0; y < s.images * s.outputs * s.outH * s.outW; ++y) {
    const std::int64_t ow = y % s.outW, oh = y / s.outW % s.outH, o = y / (s.outW * s.outH) % s.outputs;
    const std::int64_t image = y / (s.outW * s.outH * s.outputs);
    for (std::int64_t w = 0; w < inGroup * s.kernelH * s.kernelW; ++w) {
      const std::int64_t kw = w % s.kernelW, kh = w / s.kernelW % s.kernelH, c = w / (s.kernelW * s.kernelH);
      const std::int64_t ih = oh * s.strideH + kh * s.dilationH - s.padTop;
      const std::int64_t iw = ow * s.strideW + kw * s.dilationW - s.padLeft;
      if (ih < 0 || ih >= s.inH || iw < 0 || iw >= s.inW) continue;
      const std::int64_t x = ((image * s.channels + o / outGroup * inGroup + c) * s.inH + ih) * s.inW + iw;
      visit(static_cast<std::size_t>(x), static_cast<std::size_t>(o * inGroup * s.kernelH * s.kernelW + w),
            static_cast<std::size_t>(y));
    }
  }
}

struct Sizes {
  std::int64_t x, w, y;
};
Sizes sizesOf(const Shape& s) {
  return {s.images * s.channels * s.inH * s.inW, s.outputs * s.channels / s.groups * s.kernelH * s.kernelW,
          s.images * s.outputs * s.outH * s.outW};
}

std::vector<double> expectedOf(const Shape& s, const std::vector<Floats>& in) {
  const Sizes sizes = sizesOf(s);
  const auto value = [&](std::size_t input, std::size_t place) {
    return static_cast<double>(in[input][place]);
  };
  if (s.what == What::kForward) {
    std::vector<double> y(static_cast<std::size_t>(sizes.y));
    const auto plane = static_cast<std::size_t>(s.outH * s.outW),
               outputs = static_cast<std::size_t>(s.outputs);
    if (s.bias)
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = value(2, i / plane % outputs);
    eachProduct(s, [&](std::size_t xAt, std::size_t wAt, std::size_t yAt) {
      y[yAt] += value(0, xAt) * value(1, wAt);
    });
    return y;
  }
  if (s.what == What::kInputGradient) {
    std::vector<double> dx(static_cast<std::size_t>(sizes.x));
    eachProduct(s, [&](std::size_t xAt, std::size_t wAt, std::size_t yAt) {
      dx[xAt] += value(0, yAt) * value(1, wAt);
    });
    return dx;
  }
  std::vector<double> dw(static_cast<std::size_t>(sizes.w));
  eachProduct(s, [&](std::size_t xAt, std::size_t wAt, std::size_t yAt) {
    dw[wAt] += value(0, yAt) * value(1, xAt);
  });
  return dw;
}

void checkConvolution(Device& device, Report& report, const Shape& s) {
  std::string why;
  const auto operation = device.convolution(s, why);
  if (!operation) return report.line(false, textOf(s), why);
  const Sizes sizes = sizesOf(s);
  const Floats x = someFloats(sizes.x, 1), w = someFloats(sizes.w, 2), dy = someFloats(sizes.y, 3);
  std::vector<Floats> inputs = s.what == What::kForward         ? std::vector<Floats>{x, w}
                               : s.what == What::kInputGradient ? std::vector<Floats>{dy, w}
                                                                : std::vector<Floats>{dy, x};
  if (s.bias) inputs.push_back(someFloats(s.outputs, 4));
  checkOperation(device, report, textOf(s), *operation, inputs, expectedOf(s, inputs), kTolerance);
}

void checkAllThree(Device& device, Report& report, Shape s) {
  const auto outputs = [](std::int64_t in, std::int64_t kernel, std::int64_t pads, std::int64_t stride,
                          std::int64_t dilation) {
    return (in + pads - dilation * (kernel - 1) - 1) / stride + 1;
  };
  s.outH = outputs(s.inH, s.kernelH, s.padTop + s.padBottom, s.strideH, s.dilationH);
  s.outW = outputs(s.inW, s.kernelW, s.padLeft + s.padRight, s.strideW, s.dilationW);
  for (const What what : {What::kForward, What::kInputGradient, What::kWeightGradient}) {
    s.what = what;
    s.bias = false;
    checkConvolution(device, report, s);
  }
  s.what = What::kForward;
  s.bias = true;
  checkConvolution(device, report, s);
}

/// Square, padded alike on all sides.
Shape square(std::int64_t images, std::int64_t channels, std::int64_t in, std::int64_t outputs,
             std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t dilation = 1,
             std::int64_t groups = 1) {
  Shape s{.images = images,
          .channels = channels,
          .inH = in,
          .inW = in,
          .outputs = outputs,
          .kernelH = kernel,
          .kernelW = kernel};
  s.padTop = s.padLeft = s.padBottom = s.padRight = pad;
  s.strideH = s.strideW = stride;
  s.dilationH = s.dilationW = dilation;
  s.groups = groups;
  return s;
}

}  // namespace

void checkConvolutions(Device& device, Report& report) {
  for (const Shape& s :
       {square(8, 1, 28, 6, 5, 1, 2), square(8, 6, 14, 16, 5, 1, 0), square(4, 3, 32, 16, 3, 1, 1),
        square(4, 16, 32, 32, 3, 2, 1), square(4, 32, 16, 32, 3, 1, 1), square(4, 16, 32, 32, 1, 2, 0),
        square(2, 64, 14, 64, 3, 1, 1), square(2, 3, 63, 24, 11, 4, 2), square(2, 8, 20, 8, 3, 1, 2, 2),
        square(2, 12, 15, 18, 3, 1, 1, 1, 3), square(2, 16, 15, 16, 3, 1, 1, 1, 16)})
    checkAllThree(device, report, s);

  Shape uneven{.images = 2, .channels = 5, .inH = 13, .inW = 21, .outputs = 7, .kernelH = 3, .kernelW = 5};
  uneven.padTop = uneven.padBottom = 1;
  uneven.padLeft = uneven.padRight = 2;
  uneven.strideH = 2;
  uneven.dilationW = 2;
  checkAllThree(device, report, uneven);
  // One row less below decides nothing here: the last stride does not reach it.
  Shape below = square(2, 4, 16, 8, 3, 2, 1);
  below.padBottom = below.padRight = 0;
  checkAllThree(device, report, below);

  Shape oneSided = square(2, 4, 16, 8, 3, 1, 0);
  oneSided.padBottom = oneSided.padRight = 2;
  oneSided.outH = oneSided.outW = 16;
  std::string why;
  const bool declined = !device.convolution(oneSided, why);
  report.line(declined && !why.empty(), "one-sided padding is declined", why);
}

}  // namespace msdbg::core::device::check
