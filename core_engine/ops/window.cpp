#include "core_engine/ops/window.h"

namespace msdbg::core {
namespace {

using Ints = std::vector<std::int64_t>;

/// An attribute of `count` numbers in [minimum, 2^20]: far beyond any real model, and sums of them cannot
/// overflow.
Result<Ints> readInts(std::string_view op, const Attributes& attributes, std::string_view name,
                      const Ints& fallback, std::int64_t minimum) {
  Ints values = intsAttribute(attributes, name, fallback);
  bool good = values.size() == fallback.size();
  for (std::int64_t v : values) good = good && v >= minimum && v <= (1 << 20);
  if (good) return values;
  return inferError(op, "attribute " + std::string(name) + " is " + Shape(values).text() + ", but " +
                            std::to_string(fallback.size()) + " numbers of at least " +
                            std::to_string(minimum) + " were expected");
}

Status checkPads(std::string_view op, const Window& w) {
  if (std::max(w.padTop, w.padBottom) < w.extentH() && std::max(w.padLeft, w.padRight) < w.extentW())
    return Ok{};
  return inferError(op, "pads must be smaller than the kernel, which is " +
                            Shape{w.extentH(), w.extentW()}.text() +
                            (w.dilationH * w.dilationW == 1 ? "" : " with its dilations"));
}

/// Padding that makes the output ceil(size / stride) long, the odd element at the end or (lower) the start.
void padSame(std::int64_t size, std::int64_t extent, std::int64_t stride, bool lower, std::int64_t& before,
             std::int64_t& after) {
  const std::int64_t out = (size + stride - 1) / stride;
  const std::int64_t total = std::max<std::int64_t>((out - 1) * stride + extent - size, 0);
  before = lower ? total - total / 2 : total / 2;
  after = total - before;
}

Status readPads(std::string_view op, const Attributes& attributes, Window& w) {
  const std::string kind = stringAttribute(attributes, "auto_pad", "NOTSET");
  if (kind == "NOTSET") {
    MSDBG_ASSIGN(const Ints pads, readInts(op, attributes, "pads", {0, 0, 0, 0}, 0));
    w.padTop = pads[0], w.padLeft = pads[1], w.padBottom = pads[2], w.padRight = pads[3];
  } else if (kind == "SAME_UPPER" || kind == "SAME_LOWER") {
    const bool lower = kind == "SAME_LOWER";
    padSame(w.inH, w.extentH(), w.strideH, lower, w.padTop, w.padBottom);
    padSame(w.inW, w.extentW(), w.strideW, lower, w.padLeft, w.padRight);
  } else if (kind != "VALID") {
    return inferError(
        op, "attribute auto_pad is '" + kind + "', but NOTSET, SAME_UPPER, SAME_LOWER or VALID was expected");
  }
  return checkPads(op, w);
}

/// Windows along a dimension; rounded up where asked for, without a last one that lies in the padding alone.
std::int64_t countWindows(std::int64_t size, std::int64_t before, std::int64_t after, std::int64_t extent,
                          std::int64_t stride, bool up) {
  const std::int64_t room = size + before + after - extent;
  std::int64_t count = (room + (up ? stride - 1 : 0)) / stride + 1;
  if (up && (count - 1) * stride >= size + before) --count;
  return count;
}

Status setOutput(std::string_view op, bool up, Window& w) {
  const Shape padded{w.inH + w.padTop + w.padBottom, w.inW + w.padLeft + w.padRight};
  if (padded[0] < w.extentH() || padded[1] < w.extentW())
    return inferError(op, "the kernel " + Shape{w.extentH(), w.extentW()}.text() +
                              " is larger than the padded input plane " + padded.text());
  w.outH = countWindows(w.inH, w.padTop, w.padBottom, w.extentH(), w.strideH, up);
  w.outW = countWindows(w.inW, w.padLeft, w.padRight, w.extentW(), w.strideW, up);
  return Ok{};
}

}  // namespace

Result<Window> makeWindow(std::string_view op, const Attributes& attributes, std::int64_t inH,
                          std::int64_t inW, std::int64_t kernelH, std::int64_t kernelW) {
  const bool fromWeight = kernelH >= 0;
  const Ints weight{std::max<std::int64_t>(kernelH, 0), std::max<std::int64_t>(kernelW, 0)};
  MSDBG_ASSIGN(const Ints kernel, readInts(op, attributes, "kernel_shape", weight, 1));
  if (fromWeight && kernel != weight)
    return inferError(op, "attribute kernel_shape is " + Shape(kernel).text() + " but the weight's is " +
                              Shape(weight).text());
  MSDBG_ASSIGN(const Ints strides, readInts(op, attributes, "strides", {1, 1}, 1));
  MSDBG_ASSIGN(const Ints dilations, readInts(op, attributes, "dilations", {1, 1}, 1));
  Window w{.kernelH = kernel[0], .kernelW = kernel[1], .strideH = strides[0], .strideW = strides[1]};
  w.inH = inH, w.inW = inW;
  w.dilationH = dilations[0], w.dilationW = dilations[1];
  MSDBG_TRY(readPads(op, attributes, w));
  MSDBG_TRY(setOutput(op, intAttribute(attributes, "ceil_mode", 0) != 0, w));
  return w;
}

std::vector<AttributeDoc> windowAttributes(std::string_view kernel) {
  return {{"kernel_shape", "ints", kernel, "[height, width]"},
          {"strides", "ints", "[1,1]", "[vertical, horizontal]"},
          {"dilations", "ints", "[1,1]", "distance of neighbours in the kernel: [vertical, horizontal]"},
          {"pads", "ints", "[0,0,0,0]", "[top, left, bottom, right], each smaller than the kernel"},
          {"auto_pad", "string", "NOTSET",
           "NOTSET: pads; VALID: none; SAME_UPPER, SAME_LOWER: output = input / stride"}};
}

}  // namespace msdbg::core
