#include "core_engine/tensor/dtype.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

constexpr bool inOrderOfNumbers() {
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (static_cast<std::size_t>(kDTypes[i]) != i + 1) return false;
  return true;
}
static_assert(inOrderOfNumbers());

template <typename T>
FloatLimits limitsOf() {
  using Limits = std::numeric_limits<T>;
  return {Limits::max(), Limits::min(), Limits::denorm_min(), Limits::epsilon()};
}

/// Of a type with so many bits of fraction whose numbers of exponent 0 begin at the bits of `one`.
template <SmallFloat T>
FloatLimits limitsOf(int fraction, unsigned one, unsigned largest) {
  const auto at = [](unsigned bits) { return toDouble(T{static_cast<decltype(T::bits)>(bits)}); };
  return {at(largest), at(1u << fraction), at(1), at(one + 1) - 1};
}

}  // namespace

std::size_t dtypeSize(DType dtype) {
  if (dtype == DType::Unsupported) return 0;
  return visitDType(dtype, [](auto type) { return sizeof type; });
}

std::string_view dtypeName(DType dtype) {
  switch (dtype) {
    case DType::Unsupported:
      return "unsupported";
    case DType::Float32:
      return "float32";
    case DType::Float64:
      return "float64";
    case DType::Int64:
      return "int64";
    case DType::Int32:
      return "int32";
    case DType::UInt8:
      return "uint8";
    case DType::Bool:
      return "bool";
    case DType::Int8:
      return "int8";
    case DType::Int16:
      return "int16";
    case DType::UInt16:
      return "uint16";
    case DType::UInt32:
      return "uint32";
    case DType::UInt64:
      return "uint64";
    case DType::Float16:
      return "float16";
    case DType::BFloat16:
      return "bfloat16";
    case DType::Float8E4M3FN:
      return "float8_e4m3fn";
    case DType::Float8E4M3FNUZ:
      return "float8_e4m3fnuz";
    case DType::Float8E5M2:
      return "float8_e5m2";
    case DType::Float8E5M2FNUZ:
      return "float8_e5m2fnuz";
    case DType::Complex64:
      return "complex64";
    case DType::Complex128:
      return "complex128";
  }
  return "unsupported";
}

std::optional<DType> dtypeFromName(std::string_view name) {
  const auto found = std::ranges::find(kDTypes, name, dtypeName);
  return found == kDTypes.end() ? std::nullopt : std::optional(*found);
}

std::optional<DType> dtypeFromNumber(std::int64_t number) {
  if (number < 1 || number > static_cast<std::int64_t>(kDTypes.size())) return std::nullopt;
  return static_cast<DType>(number);
}

bool isFloating(DType dtype) {
  if (dtype == DType::Unsupported) return false;
  return visitDType(
      dtype, [](auto type) { return SmallFloat<decltype(type)> || std::floating_point<decltype(type)>; });
}

bool isInteger(DType dtype) {
  if (dtype == DType::Unsupported || dtype == DType::Bool) return false;
  return visitDType(dtype, [](auto type) { return std::integral<decltype(type)>; });
}

bool isComplex(DType dtype) { return dtype == DType::Complex64 || dtype == DType::Complex128; }

bool mayBeNonFinite(DType dtype) {
  return isFloating(dtype) || isComplex(dtype) || dtype == DType::Unsupported;
}

bool isComputed(DType dtype) { return std::ranges::find(kComputedDTypes, dtype) != kComputedDTypes.end(); }

std::string notComputed(DType dtype) {
  std::vector<std::string> names;
  for (const DType computed : kComputedDTypes) names.emplace_back(dtypeName(computed));
  return std::string(dtypeName(dtype)) +
         " is a dtype that msdbg records and shows, but does not compute with; use " + join(names, ", ");
}

FloatLimits floatLimits(DType dtype) {
  switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
      return limitsOf<double>();
    case DType::Float16:
      return limitsOf<Float16>(10, 0x3c00, 0x7bff);
    case DType::BFloat16:
      return limitsOf<BFloat16>(7, 0x3f80, 0x7f7f);
    case DType::Float8E4M3FN:
      return limitsOf<Float8E4M3FN>(3, 0x38, 0x7e);
    case DType::Float8E4M3FNUZ:
      return limitsOf<Float8E4M3FNUZ>(3, 0x40, 0x7f);
    case DType::Float8E5M2:
      return limitsOf<Float8E5M2>(2, 0x3c, 0x7b);
    case DType::Float8E5M2FNUZ:
      return limitsOf<Float8E5M2FNUZ>(2, 0x40, 0x7f);
    case DType::Unsupported:
    case DType::Float32:
    case DType::Complex64:
    case DType::Int64:
    case DType::Int32:
    case DType::UInt8:
    case DType::Bool:
    case DType::Int8:
    case DType::Int16:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64:
      break;
  }
  return limitsOf<float>();
}

void refuseToCompute(DType dtype) { throw std::logic_error(notComputed(dtype)); }

void refuseUnsupported() {
  throw std::logic_error("a tensor of an unsupported dtype has no elements: ask for its dtype first");
}

}  // namespace msdbg::core
