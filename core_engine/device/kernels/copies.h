// Transpose and Cast: an element a thread.
#pragma once

#include "core_engine/device/kernels/elementwise.h"

namespace msdbg::core::device {

template <typename T>
MSDBG_DEVICE void transposeAs(const TransposeParameters& p) {
  const T* x = static_cast<const T*>(p.x);
  T* y = static_cast<T*>(p.y);
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads()) y[i] = x[offsetOf(i, p.rank, p.dims, p.strides)];
}
MSDBG_KERNEL(transpose, TransposeParameters) {
  switch (p.elementBytes) {
    case 1:
      return transposeAs<std::uint8_t>(p);
    case 2:
      return transposeAs<std::uint16_t>(p);
    case 4:
      return transposeAs<std::uint32_t>(p);
    default:
      return transposeAs<std::uint64_t>(p);
  }
}

template <typename To, typename From>
MSDBG_DEVICE void convert(const CastParameters& p) {
  const From* x = static_cast<const From*>(p.x);
  To* y = static_cast<To*>(p.y);
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads()) y[i] = static_cast<To>(x[i]);
}
MSDBG_KERNEL(cast, CastParameters) {
  switch (p.conversion) {
    case Conversion::kDoubleToFloat:
      return convert<float, double>(p);
    case Conversion::kFloatToDouble:
      return convert<double, float>(p);
    case Conversion::kByteToFloat:
      return convert<float, std::uint8_t>(p);
    case Conversion::kInt64ToFloat:
      return convert<float, std::int64_t>(p);
  }
}

}  // namespace msdbg::core::device
