// Element-wise operators: an element a thread. Formulas: core_engine/ops/element_formulas.h.
#pragma once

#include "core_engine/device/kernels/kernel.h"
#include "core_engine/device/kernels/parameters.h"

namespace msdbg::core::device {

/// Offset of the row-major element `at` of `dims` in a tensor of these strides. A division of 32 bits takes a
/// third of one of 64.
template <typename Index>
MSDBG_DEVICE std::int64_t offsetAs(Index at, int rank, const std::int64_t* dims,
                                   const std::int64_t* strides) {
  std::int64_t offset = 0;
  for (int d = rank - 1; d > 0; --d) {
    const Index size = static_cast<Index>(dims[d]), next = at / size;
    offset += static_cast<std::int64_t>(at - next * size) * strides[d];
    at = next;
  }
  return rank > 0 ? offset + static_cast<std::int64_t>(at) * strides[0] : 0;
}
MSDBG_DEVICE std::int64_t offsetOf(std::int64_t at, int rank, const std::int64_t* dims,
                                   const std::int64_t* strides) {
  if (at <= 0x7fffffff) return offsetAs(static_cast<std::uint32_t>(at), rank, dims, strides);
  return offsetAs(static_cast<std::uint64_t>(at), rank, dims, strides);
}
/// a / b and what is left, of numbers that are not negative.
struct Divided {
  std::int64_t quotient, rest;
};
MSDBG_DEVICE Divided divided(std::int64_t a, std::int64_t b) {
  if (a <= 0x7fffffff && b <= 0x7fffffff) {
    const std::uint32_t quotient = static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
    return {quotient, static_cast<std::uint32_t>(a) - quotient * static_cast<std::uint32_t>(b)};
  }
  return {a / b, a % b};
}

template <typename Op>
MSDBG_DEVICE void mapWith(const MapParameters& p) {
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads()) p.y[i] = Op::of(p.x[i]);
}
MSDBG_KERNEL(map, MapParameters) {
  switch (p.op) {
    case Unary::kRelu:
      return mapWith<ReluOf>(p);
    case Unary::kSigmoid:
      return mapWith<SigmoidOf>(p);
    case Unary::kTanh:
      return mapWith<TanhOf>(p);
    case Unary::kExp:
      return mapWith<ExpOf>(p);
    case Unary::kLog:
      return mapWith<LogOf>(p);
    case Unary::kSqrt:
      return mapWith<SqrtOf>(p);
    case Unary::kErf:
      return mapWith<ErfOf>(p);
    case Unary::kGelu:
      return mapWith<GeluOf>(p);
  }
}

template <typename Op>
MSDBG_DEVICE void combineWith(const CombineParameters& p) {
  if (p.rank == 0) {
    for (std::int64_t i = globalThread(); i < p.count; i += allThreads()) p.y[i] = Op::of(p.a[i], p.b[i]);
    return;
  }
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads())
    p.y[i] =
        Op::of(p.a[offsetOf(i, p.rank, p.dims, p.stridesA)], p.b[offsetOf(i, p.rank, p.dims, p.stridesB)]);
}
MSDBG_KERNEL(combine, CombineParameters) {
  switch (p.op) {
    case Binary::kAdd:
      return combineWith<AddOf>(p);
    case Binary::kSub:
      return combineWith<SubOf>(p);
    case Binary::kMul:
      return combineWith<MulOf>(p);
    case Binary::kDiv:
      return combineWith<DivOf>(p);
    case Binary::kReluGrad:
      return combineWith<ReluGradOf>(p);
    case Binary::kSigmoidGrad:
      return combineWith<SigmoidGradOf>(p);
    case Binary::kTanhGrad:
      return combineWith<TanhGradOf>(p);
    case Binary::kGeluGrad:
      return combineWith<GeluGradOf>(p);
  }
}

}  // namespace msdbg::core::device
