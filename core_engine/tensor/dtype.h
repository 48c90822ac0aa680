// Element types. A dtype is a property of a tensor, never of the code that handles it. All can be recorded,
// read, shown and compared; the engine computes in six of them, and in two more by rounding. Pure functions;
// thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core_engine/tensor/element_types.h"

namespace msdbg::core {

// Spelled without a k because users write them: msdbg::DType::Int64. The values are those of graph.proto.
enum class DType : std::uint8_t {
  Unsupported = 0,  // read from a run of a newer msdbg: of size 0, no tensor has it
  Float32 = 1,
  Float64 = 2,
  Int64 = 3,
  Int32 = 4,
  UInt8 = 5,
  Bool = 6,
  Int8 = 7,
  Int16 = 8,
  UInt16 = 9,
  UInt32 = 10,
  UInt64 = 11,
  Float16 = 12,
  BFloat16 = 13,
  Float8E4M3FN = 14,
  Float8E4M3FNUZ = 15,
  Float8E5M2 = 16,
  Float8E5M2FNUZ = 17,
  Complex64 = 18,
  Complex128 = 19
};

/// All that tensors have, by their numbers.
inline constexpr std::array kDTypes = {
    DType::Float32,    DType::Float64,        DType::Int64,     DType::Int32,        DType::UInt8,
    DType::Bool,       DType::Int8,           DType::Int16,     DType::UInt16,       DType::UInt32,
    DType::UInt64,     DType::Float16,        DType::BFloat16,  DType::Float8E4M3FN, DType::Float8E4M3FNUZ,
    DType::Float8E5M2, DType::Float8E5M2FNUZ, DType::Complex64, DType::Complex128};

std::size_t dtypeSize(DType dtype);       // bytes per element
std::string_view dtypeName(DType dtype);  // "float32", as NumPy and ml_dtypes write it; "unsupported"
std::optional<DType> dtypeFromName(std::string_view name);
std::optional<DType> dtypeFromNumber(std::int64_t number);  // of graph.proto; nullopt: none that tensors have

bool isFloating(DType dtype);  // real numbers with a point, of any width
bool isInteger(DType dtype);   // of any width; not bool
bool isComplex(DType dtype);
/// Elements may be NaN or Inf; of an unsupported dtype nobody knows.
bool mayBeNonFinite(DType dtype);

/// What the engine computes in.
inline constexpr std::array kComputedDTypes = {DType::Float32, DType::Float64, DType::Int64,
                                               DType::Int32,   DType::UInt8,   DType::Bool};
bool isComputed(DType dtype);
inline bool isComputedFloating(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }
/// What the engine computes in float32 and then rounds, to the nearest number, of two the one with an even
/// last bit (core_engine/runtime/rounded_kernel.h): what operators make, and constants; no source that is
/// given.
inline bool isRounded(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }
/// "float16 is a dtype that msdbg records and shows, but does not compute with: …", for who asks for it.
std::string notComputed(DType dtype);

/// Of a floating dtype, and of the parts of a complex one.
struct FloatLimits {
  double largest = 0;         // finite
  double smallestNormal = 0;  // above 0
  double smallest = 0;        // above 0: subnormal
  double epsilon = 0;         // from 1 to the next number
};
/// Of any other dtype those of float32.
FloatLimits floatLimits(DType dtype);

/// The dtype whose elements are of this C++ type; of other types there is none.
template <typename T>
struct DTypeOf;
template <DType dtype>
struct IsDType {
  static constexpr DType value = dtype;
};
template <>
struct DTypeOf<float> : IsDType<DType::Float32> {};
template <>
struct DTypeOf<double> : IsDType<DType::Float64> {};
template <>
struct DTypeOf<std::int64_t> : IsDType<DType::Int64> {};
template <>
struct DTypeOf<std::int32_t> : IsDType<DType::Int32> {};
template <>
struct DTypeOf<std::uint8_t> : IsDType<DType::UInt8> {};
template <>
struct DTypeOf<bool> : IsDType<DType::Bool> {};
template <>
struct DTypeOf<std::int8_t> : IsDType<DType::Int8> {};
template <>
struct DTypeOf<std::int16_t> : IsDType<DType::Int16> {};
template <>
struct DTypeOf<std::uint16_t> : IsDType<DType::UInt16> {};
template <>
struct DTypeOf<std::uint32_t> : IsDType<DType::UInt32> {};
template <>
struct DTypeOf<std::uint64_t> : IsDType<DType::UInt64> {};
template <>
struct DTypeOf<Float16> : IsDType<DType::Float16> {};
template <>
struct DTypeOf<BFloat16> : IsDType<DType::BFloat16> {};
template <>
struct DTypeOf<Float8E4M3FN> : IsDType<DType::Float8E4M3FN> {};
template <>
struct DTypeOf<Float8E4M3FNUZ> : IsDType<DType::Float8E4M3FNUZ> {};
template <>
struct DTypeOf<Float8E5M2> : IsDType<DType::Float8E5M2> {};
template <>
struct DTypeOf<Float8E5M2FNUZ> : IsDType<DType::Float8E5M2FNUZ> {};
template <>
struct DTypeOf<Complex64> : IsDType<DType::Complex64> {};
template <>
struct DTypeOf<Complex128> : IsDType<DType::Complex128> {};

template <typename T>
inline constexpr DType kDTypeOf = DTypeOf<T>::value;
template <typename T>
concept ElementType = requires {
  DTypeOf<T>::value;
};

[[noreturn]] void refuseToCompute(DType dtype);  // std::logic_error
[[noreturn]] void refuseUnsupported();           // std::logic_error

/// Calls f(T{}) with the C++ type of a dtype that the engine computes floating-point numbers in (float or
/// double); std::logic_error of another one.
template <typename F>
decltype(auto) visitFloating(DType dtype, F&& f) {
  if (dtype == DType::Float32) return f(float{});
  if (dtype == DType::Float64) return f(double{});
  refuseToCompute(dtype);
}

/// Calls f(T{}) with the C++ type of a dtype that the engine computes in; std::logic_error of another one.
template <typename F>
decltype(auto) visitComputed(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float32:
      return f(float{});
    case DType::Float64:
      return f(double{});
    case DType::Int64:
      return f(std::int64_t{});
    case DType::Int32:
      return f(std::int32_t{});
    case DType::UInt8:
      return f(std::uint8_t{});
    case DType::Bool:
      return f(bool{});
    case DType::Unsupported:
    case DType::Int8:
    case DType::Int16:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64:
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float8E4M3FN:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2:
    case DType::Float8E5M2FNUZ:
    case DType::Complex64:
    case DType::Complex128:
      break;
  }
  refuseToCompute(dtype);
}

/// Calls f(T{}) with the C++ type of any dtype of a tensor (bool as std::uint8_t storage is `bool`).
template <typename F>
decltype(auto) visitDType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Int8:
      return f(std::int8_t{});
    case DType::Int16:
      return f(std::int16_t{});
    case DType::UInt16:
      return f(std::uint16_t{});
    case DType::UInt32:
      return f(std::uint32_t{});
    case DType::UInt64:
      return f(std::uint64_t{});
    case DType::Float16:
      return f(Float16{});
    case DType::BFloat16:
      return f(BFloat16{});
    case DType::Float8E4M3FN:
      return f(Float8E4M3FN{});
    case DType::Float8E4M3FNUZ:
      return f(Float8E4M3FNUZ{});
    case DType::Float8E5M2:
      return f(Float8E5M2{});
    case DType::Float8E5M2FNUZ:
      return f(Float8E5M2FNUZ{});
    case DType::Complex64:
      return f(Complex64{});
    case DType::Complex128:
      return f(Complex128{});
    case DType::Float32:
    case DType::Float64:
    case DType::Int64:
    case DType::Int32:
    case DType::UInt8:
    case DType::Bool:
      return visitComputed(dtype, std::forward<F>(f));
    case DType::Unsupported:
      break;
  }
  refuseUnsupported();
}

}  // namespace msdbg::core
