// Element types. A dtype is a property of a tensor, never of the code that handles it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace msdbg::core {

// Spelled without a k because users write them: msdbg::DType::Int64. The values are those of graph.proto.
enum class DType : std::uint8_t { Float32 = 1, Float64 = 2, Int64 = 3, Int32 = 4, UInt8 = 5, Bool = 6 };

std::size_t dtypeSize(DType dtype);       // bytes per element
std::string_view dtypeName(DType dtype);  // "float32", as NumPy writes it
std::optional<DType> dtypeFromName(std::string_view name);
bool isFloating(DType dtype);

template <typename T>
inline constexpr DType kDTypeOf = DType::Float32;
template <>
inline constexpr DType kDTypeOf<double> = DType::Float64;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::Int64;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::Int32;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::UInt8;
template <>
inline constexpr DType kDTypeOf<bool> = DType::Bool;

/// Whether a tensor has elements of this C++ type.
template <typename T>
inline constexpr bool kIsElement = kDTypeOf<T> != DType::Float32 || std::is_same_v<T, float>;

/// Calls f(T{}) with the C++ type of a floating dtype (float or double); asserts otherwise.
template <typename F>
decltype(auto) visitFloating(DType dtype, F&& f) {
  if (dtype == DType::Float64) return f(double{});
  return f(float{});
}

/// Calls f(T{}) with the C++ type of any dtype (bool as std::uint8_t storage is `bool`).
template <typename F>
decltype(auto) visitDType(DType dtype, F&& f) {
  switch (dtype) {
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
    case DType::Float32:
      break;
  }
  return f(float{});
}

}  // namespace msdbg::core
