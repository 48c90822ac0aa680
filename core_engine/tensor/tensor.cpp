#include "core_engine/tensor/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

constexpr std::align_val_t kAlignment{Tensor::kAlignment};
constexpr std::size_t kHugePage = 2u << 20;

/// Rounded up to whole cache lines, so that an empty tensor has storage and vector loads never straddle the
/// end. Large ones ask for huge pages: fewer faults, and matrices whose rows are far apart miss fewer address
/// translations (core_engine/PERFORMANCE.md). Where the system has none, nothing changes.
std::shared_ptr<std::byte[]> allocate(DType dtype, const Shape& shape, std::size_t bytes) {
  const std::size_t rounded = std::max<std::size_t>(64, (bytes + 63) / 64 * 64);
  const std::align_val_t alignment = rounded < kHugePage ? kAlignment : std::align_val_t{kHugePage};
  auto* data = static_cast<std::byte*>(::operator new(rounded, alignment, std::nothrow));
  if (!data)
    throw OutOfMemory("no memory for " + std::string(dtypeName(dtype)) + shape.text() + ", " +
                      formatBytes(bytes) + "; make the model or its batch smaller");
  if (rounded >= kHugePage) ::madvise(data, rounded / kHugePage * kHugePage, MADV_HUGEPAGE);
  return {data, [alignment](std::byte* p) { ::operator delete(p, alignment); }};
}

/// Like static_cast, but defined for every value: see Tensor::cast().
template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <ComplexNumber To, typename From>
To complexOf(From x) {
  using Part = decltype(To::real);
  if constexpr (ComplexNumber<From>)
    return {static_cast<Part>(x.real), static_cast<Part>(x.imag)};
  else
    return {static_cast<Part>(toDouble(x)), 0};
}

/// Booleans are read as bytes: a file may hold one that is neither 0 nor 1.
template <typename T>
T load(const void* data, std::size_t i) {
  if constexpr (std::is_same_v<T, bool>)
    return static_cast<const std::uint8_t*>(data)[i] != 0;
  else
    return static_cast<const T*>(data)[i];
}

}  // namespace

bool Shape::known() const {
  return std::all_of(m_dims.begin(), m_dims.end(), [](std::int64_t d) { return d >= 0; });
}

std::int64_t Shape::elements() const {
  assert(known());
  std::int64_t product = 1;
  for (const std::int64_t d : m_dims) product *= d;
  return product;
}

std::vector<std::int64_t> Shape::strides() const {
  std::vector<std::int64_t> strides(m_dims.size(), 1);
  for (std::size_t i = m_dims.size(); i-- > 1;) strides[i - 1] = strides[i] * m_dims[i];
  return strides;
}

std::string Shape::text() const {
  std::string text = "[";
  for (std::size_t i = 0; i < m_dims.size(); ++i) text += (i ? ", " : "") + std::to_string(m_dims[i]);
  return text + "]";
}

Tensor::Tensor(DType dtype, Shape shape)
    : m_dtype(dtype),
      m_shape(std::move(shape)),
      m_elements(m_shape.elements()),
      m_data(allocate(dtype, m_shape, static_cast<std::size_t>(m_elements) * dtypeSize(dtype))) {}

void Tensor::refuseType(DType asked) const {
  throw std::logic_error("Tensor::data: the tensor is " + std::string(dtypeName(m_dtype)) + m_shape.text() +
                         ", but its elements were asked for as " + std::string(dtypeName(asked)) +
                         "; use that type, or cast() first");
}

void Tensor::refusePlace() const {
  throw std::logic_error("Tensor: the bytes of " + std::string(dtypeName(m_dtype)) + m_shape.text() +
                         " lie on a device; copy them to the host first");
}

void Tensor::refuseCount(std::size_t values) const {
  throw std::logic_error("Tensor::of: " + std::to_string(values) + " values for " +
                         std::string(dtypeName(m_dtype)) + m_shape.text() + ", which has " +
                         std::to_string(m_elements));
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  std::memset(tensor.raw(), 0, tensor.bytes());
  return tensor;
}

Tensor Tensor::in(std::shared_ptr<std::byte[]> memory, Place place, DType dtype, Shape shape) {
  Tensor tensor;
  tensor.m_dtype = dtype;
  tensor.m_place = place;
  tensor.m_elements = shape.elements();
  tensor.m_shape = std::move(shape);
  tensor.m_data = std::move(memory);
  return tensor;
}

Tensor Tensor::clone() const {
  if (!valid()) return {};
  Tensor copy(m_dtype, m_shape);
  std::memcpy(copy.raw(), raw(), bytes());
  return copy;
}

Tensor Tensor::reshaped(Shape shape) const {
  assert(shape.elements() == m_elements);
  return part(0, std::move(shape));
}

Tensor Tensor::part(std::int64_t first, Shape shape) const {
  return viewAt(first * static_cast<std::int64_t>(dtypeSize(m_dtype)), m_dtype, std::move(shape));
}

Tensor Tensor::viewAt(std::int64_t byte, DType dtype, Shape shape) const {
  Tensor view;
  view.m_dtype = dtype;
  view.m_place = m_place;
  view.m_elements = shape.elements();
  view.m_shape = std::move(shape);
  assert(byte >= 0 && static_cast<std::size_t>(byte) + view.bytes() <= bytes());
  view.m_data = std::shared_ptr<std::byte[]>(m_data, m_data.get() + byte);
  return view;
}

void Tensor::refuseCast(DType dtype) const {
  throw std::logic_error("Tensor::cast: " + std::string(dtypeName(m_dtype)) + m_shape.text() +
                         " cannot become " + std::string(dtypeName(dtype)) +
                         ": a complex number becomes a complex one only");
}

Tensor Tensor::cast(DType dtype) const {
  Tensor result(dtype, m_shape);
  visitDType(m_dtype, [&](auto from) {
    [[maybe_unused]] const auto each = [&](auto convertOne) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(m_elements); ++i)
        convertOne(i, load<decltype(from)>(raw(), i));
    };
    visitDType(dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      [[maybe_unused]] auto* out = static_cast<To*>(result.raw());
      if constexpr (ComplexNumber<To>)
        each([out](std::size_t i, From x) { out[i] = complexOf<To>(x); });
      else if constexpr (ComplexNumber<From>)
        refuseCast(dtype);
      else if constexpr (SmallFloat<To>)
        each([out](std::size_t i, From x) { out[i] = roundTo<To>(toDouble(x)); });
      else if constexpr (SmallFloat<From>)
        each([out](std::size_t i, From x) { out[i] = convert<To>(toFloat(x)); });
      else
        each([out](std::size_t i, From x) { out[i] = convert<To>(x); });
    });
  });
  return result;
}

double Tensor::at(std::int64_t flatIndex) const {
  assert(flatIndex >= 0 && flatIndex < m_elements);
  return visitDType(m_dtype, [&](auto type) {
    return toDouble(load<decltype(type)>(raw(), static_cast<std::size_t>(flatIndex)));
  });
}

Complex128 Tensor::complexAt(std::int64_t flatIndex) const {
  assert(flatIndex >= 0 && flatIndex < m_elements);
  return visitDType(m_dtype, [&](auto type) {
    return complexOf<Complex128>(load<decltype(type)>(raw(), static_cast<std::size_t>(flatIndex)));
  });
}

}  // namespace msdbg::core
