// Shape and Tensor: dense, row-major, 64-byte aligned. A Tensor shares its storage when copied (like a Python
// reference); clone() copies bytes. Const access from many threads is safe; writers need their own exclusion.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core_engine/tensor/dtype.h"

namespace msdbg::core {

/// Dimensions, outermost first; -1 is an unknown dimension (graphs only, never a Tensor). Rank 0 is a scalar.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : m_dims(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : m_dims(std::move(dims)) {}

  std::size_t rank() const { return m_dims.size(); }
  std::int64_t operator[](std::size_t i) const { return m_dims[i]; }
  std::int64_t& operator[](std::size_t i) { return m_dims[i]; }
  std::span<const std::int64_t> dims() const { return m_dims; }
  bool known() const;
  std::int64_t elements() const;              // product; 1 for a scalar; asserts known()
  std::vector<std::int64_t> strides() const;  // row-major, in elements
  std::string text() const;                   // "[64, 3, 32, 32]"
  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> m_dims;
};

/// The machine has no memory for a tensor: which one and how many bytes. What waits outside, not a mistake in
/// the program, so no std::bad_alloc, which would end it without a word.
class OutOfMemory : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where the bytes of a tensor lie.
enum class Place : std::uint8_t {
  kHost,
  kPinned,  // the host's too, where a device copies from and to while others compute
  kDevice,  // a device's: only its kernels and copies reach them
};

class Tensor {
 public:
  static constexpr std::int64_t kAlignment = 64;  // of allocated storage, in bytes

  Tensor() = default;                // empty: no storage, valid() is false
  Tensor(DType dtype, Shape shape);  // allocates, uninitialised; throws OutOfMemory
  static Tensor zeros(DType dtype, Shape shape);
  template <typename T>
  static Tensor of(Shape shape, std::span<const T> values);  // std::logic_error: not as many as the shape has
  template <typename T>
  static Tensor scalar(T value);
  /// Of memory that somebody else allocated: at least the bytes of `shape`, released by its own deleter.
  static Tensor in(std::shared_ptr<std::byte[]> memory, Place place, DType dtype, Shape shape);

  bool valid() const { return m_data != nullptr; }
  DType dtype() const { return m_dtype; }
  const Shape& shape() const { return m_shape; }
  std::int64_t elements() const { return m_elements; }
  std::size_t bytes() const { return static_cast<std::size_t>(m_elements) * dtypeSize(m_dtype); }

  Place place() const { return m_place; }
  /// Where the bytes lie, whatever the place: to be given to a device, and to be compared.
  std::byte* address() const { return m_data.get(); }
  /// The bytes; std::logic_error where they are a device's, as all below that read or write elements.
  void* raw() { return checkPlace(), m_data.get(); }
  const void* raw() const { return checkPlace(), m_data.get(); }
  std::span<std::byte> byteSpan() { return checkPlace(), std::span(m_data.get(), bytes()); }
  std::span<const std::byte> byteSpan() const { return checkPlace(), std::span(m_data.get(), bytes()); }
  /// The elements; std::logic_error where they are of another type.
  template <typename T>
  std::span<T> data() {
    checkType<T>();
    return {reinterpret_cast<T*>(m_data.get()), static_cast<std::size_t>(m_elements)};
  }
  template <typename T>
  std::span<const T> data() const {
    checkType<T>();
    return {reinterpret_cast<const T*>(m_data.get()), static_cast<std::size_t>(m_elements)};
  }

  Tensor clone() const;
  Tensor reshaped(Shape shape) const;  // shares storage; as many elements
  /// Shares storage: the elements from `first` on.
  Tensor part(std::int64_t first, Shape shape) const;
  /// Shares storage: what lies at `byte`, read as another type.
  Tensor viewAt(std::int64_t byte, DType dtype, Shape shape) const;
  /// A converted copy. To integers: NaN is 0, floating numbers are cut and kept within the ends, integers
  /// wrap around; to bool: not 0; to small floats: roundTo(). A complex number becomes a complex one only
  /// (std::logic_error: which part of it is wanted nobody said).
  Tensor cast(DType dtype) const;
  double at(std::int64_t flatIndex) const;  // any dtype, as toDouble() has it: of complex numbers the modulus
  Complex128 complexAt(std::int64_t flatIndex) const;  // any dtype

 private:
  template <typename T>
  void checkType() const {
    static_assert(ElementType<T>, "elements are of the types that core_engine/tensor/dtype.h lists");
    if (m_dtype != kDTypeOf<T> && valid()) [[unlikely]]
      refuseType(kDTypeOf<T>);
    checkPlace();
  }
  void checkPlace() const {
    if (m_place == Place::kDevice) [[unlikely]]
      refusePlace();
  }
  [[noreturn]] void refusePlace() const;
  [[noreturn]] void refuseType(DType asked) const;
  [[noreturn]] void refuseCount(std::size_t values) const;
  [[noreturn]] void refuseCast(DType dtype) const;

  DType m_dtype = DType::Float32;
  Place m_place = Place::kHost;
  Shape m_shape;
  std::int64_t m_elements = 0;
  std::shared_ptr<std::byte[]> m_data;
};

template <typename T>
Tensor Tensor::of(Shape shape, std::span<const T> values) {
  Tensor t(kDTypeOf<T>, std::move(shape));
  if (values.size() != static_cast<std::size_t>(t.m_elements)) t.refuseCount(values.size());
  std::copy(values.begin(), values.end(), t.data<T>().begin());
  return t;
}
template <typename T>
Tensor Tensor::scalar(T value) {
  return of<T>(Shape{}, std::span<const T>(&value, 1));
}

}  // namespace msdbg::core
