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

Status checkPlain(std::string_view op, const Attributes& attributes) {
  const Ints dilations = intsAttribute(attributes, "dilations", {1, 1});
  if (dilations == Ints{1, 1} && intAttribute(attributes, "group", 1) == 1) return Ok{};
  return Error(ErrorCode::kUnsupported,
               std::string(op) + ": dilations and groups other than 1 are not implemented");
}

Status checkPads(std::string_view op, const Window& w) {
  if (std::max(w.padTop, w.padBottom) < w.kernelH && std::max(w.padLeft, w.padRight) < w.kernelW) return Ok{};
  return inferError(op,
                    "pads must be smaller than the kernel, which is " + Shape{w.kernelH, w.kernelW}.text());
}

Status setOutput(std::string_view op, Window& w) {
  const std::int64_t roomH = w.inH + w.padTop + w.padBottom - w.kernelH;
  const std::int64_t roomW = w.inW + w.padLeft + w.padRight - w.kernelW;
  if (roomH < 0 || roomW < 0)
    return inferError(op, "the kernel " + Shape{w.kernelH, w.kernelW}.text() +
                              " is larger than the padded input plane " +
                              Shape{roomH + w.kernelH, roomW + w.kernelW}.text());
  w.outH = roomH / w.strideH + 1;
  w.outW = roomW / w.strideW + 1;
  return Ok{};
}

}  // namespace

Result<Window> makeWindow(std::string_view op, const Attributes& attributes, std::int64_t inH,
                          std::int64_t inW, std::int64_t kernelH, std::int64_t kernelW) {
  MSDBG_TRY(checkPlain(op, attributes));
  const bool fromWeight = kernelH >= 0;
  const Ints weight{std::max<std::int64_t>(kernelH, 0), std::max<std::int64_t>(kernelW, 0)};
  MSDBG_ASSIGN(const Ints kernel, readInts(op, attributes, "kernel_shape", weight, 1));
  if (fromWeight && kernel != weight)
    return inferError(op, "attribute kernel_shape is " + Shape(kernel).text() + " but the weight's is " +
                              Shape(weight).text());
  MSDBG_ASSIGN(const Ints strides, readInts(op, attributes, "strides", {1, 1}, 1));
  MSDBG_ASSIGN(const Ints pads, readInts(op, attributes, "pads", {0, 0, 0, 0}, 0));
  Window w{kernel[0], kernel[1], strides[0], strides[1], pads[0], pads[1], pads[2], pads[3], inH, inW, 0, 0};
  MSDBG_TRY(checkPads(op, w));
  MSDBG_TRY(setOutput(op, w));
  return w;
}

}  // namespace msdbg::core
