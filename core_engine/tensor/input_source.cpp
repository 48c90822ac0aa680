#include "core_engine/tensor/input_source.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace msdbg::core {
namespace {

/// One axis of a bilinear resize (pixel centres at half numbers, as OpenCV and PyTorch without
/// align_corners).
struct Tap {
  std::size_t low, high;
  float weight;
};  // value = low + weight * (high - low)

std::vector<Tap> tapsOf(std::int64_t from, std::int64_t to) {
  std::vector<Tap> taps;
  const double scale = static_cast<double>(from) / static_cast<double>(to),
               last = static_cast<double>(from - 1);
  for (std::int64_t i = 0; i < to; ++i) {
    const double at = std::clamp((static_cast<double>(i) + 0.5) * scale - 0.5, 0.0, last);
    const double low = std::floor(at);
    taps.push_back({static_cast<std::size_t>(low), static_cast<std::size_t>(std::min(low + 1, last)),
                    static_cast<float>(at - low)});
  }
  return taps;
}

Error unfit(const InputSource& source, DType dtype, const Shape& shape, const std::string& why) {
  return {ErrorCode::kUsage, "a source of " + std::string(dtypeName(source.values.dtype())) +
                                 source.values.shape().text() + " cannot become an input of " +
                                 std::string(dtypeName(dtype)) + shape.text() + ": " + why};
}

bool isImage(const Shape& source, const Shape& shape) {
  return source.rank() == 4 && shape.rank() == 4 && source[0] == shape[0] &&
         (source[1] == shape[1] || source[1] == 1);
}

template <typename T>
float asFloat(T value) {
  if constexpr (SmallFloat<T> || ComplexNumber<T>)
    return static_cast<float>(toDouble(value));
  else
    return static_cast<float>(value);  // of an int64 in one rounding
}

template <typename T>
void resizePlane(const T* pixels, std::int64_t width, const std::vector<Tap>& rows,
                 const std::vector<Tap>& columns, float divisor, float* out) {
  for (const Tap& row : rows)
    for (const Tap& column : columns) {
      const auto across = [&](std::size_t r) {
        const T* line = pixels + r * static_cast<std::size_t>(width);
        const float low = asFloat(line[column.low]), high = asFloat(line[column.high]);
        return low + column.weight * (high - low);
      };
      const float low = across(row.low);
      *out++ = (low + row.weight * (across(row.high) - low)) / divisor;
    }
}

// All images of one source channel, or of each.
template <typename T>
void makeImages(const InputSource& source, Tensor& input) {
  const Shape &from = source.values.shape(), &to = input.shape();
  const std::vector<Tap> rows = tapsOf(from[2], to[2]), columns = tapsOf(from[3], to[3]);
  const T* pixels = source.values.data<T>().data();
  float* out = input.data<float>().data();
  const std::int64_t plane = to[2] * to[3], copies = to[1] / from[1];
  for (std::int64_t image = 0; image < from[0] * from[1]; ++image) {
    resizePlane(pixels + image * from[2] * from[3], from[3], rows, columns, source.divisor, out);
    for (std::int64_t copy = 1; copy < copies; ++copy) std::copy_n(out, plane, out + copy * plane);
    out += copies * plane;
  }
}

Tensor makeFloats(const InputSource& source, const Shape& shape) {
  Tensor input(DType::Float32, shape);
  visitDType(source.values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (source.values.shape() != shape) return makeImages<T>(source, input);
    std::ranges::transform(source.values.data<T>(), input.data<float>().begin(),
                           [&](T value) { return asFloat(value) / source.divisor; });
  });
  return input;
}

}  // namespace

Status checkSource(const InputSource& source, DType dtype, const Shape& shape) {
  const Shape& from = source.values.shape();
  if (!shape.known() || !source.values.valid() || source.values.elements() < 1)
    return unfit(source, dtype, shape, "there is nothing to convert");
  if (source.values.dtype() == DType::Bool)
    return unfit(source, dtype, shape, "give the bytes of a bool as uint8");
  if (isComplex(source.values.dtype()))
    return unfit(source, dtype, shape, "give real and imaginary parts as numbers of their own");
  if (!isFloating(dtype)) {
    if (source.divisor == 1 && from == shape && !isFloating(source.values.dtype())) return Ok{};
    return unfit(source, dtype, shape, "integers are made from integers of the same shape, undivided");
  }
  if (!(std::isfinite(source.divisor) && source.divisor != 0))
    return unfit(source, dtype, shape, "the divisor is not a number to divide by");
  if (from == shape) return Ok{};
  if (!isImage(from, shape))
    return unfit(source, dtype, shape,
                 "only images of as many rows, with one or as many channels, are resized");
  // Divided, not multiplied: a forged shape must not overflow.
  std::int64_t room = source.values.elements() * kMostGrowth;
  for (const std::int64_t dim : shape.dims()) room = dim < 1 ? 0 : room / dim;
  if (room == 0) return unfit(source, dtype, shape, "it would grow too much");
  return Ok{};
}

Result<Tensor> makeInput(const InputSource& source, DType dtype, const Shape& shape) {
  MSDBG_TRY(checkSource(source, dtype, shape));
  if (isFloating(dtype)) {
    if (source.values.dtype() == dtype && source.values.shape() == shape && source.divisor == 1)
      return source.values;
    Tensor input = makeFloats(source, shape);
    return dtype == DType::Float32 ? input : input.cast(dtype);
  }
  return source.values.dtype() == dtype ? source.values : source.values.cast(dtype);
}

bool makes(const InputSource& source, const Tensor& input) {
  if (source.inputHash) return *source.inputHash == hashTensor(input);
  const Result<Tensor> made = makeInput(source, input.dtype(), input.shape());
  return made.ok() && hashTensor(*made) == hashTensor(input);
}

}  // namespace msdbg::core
