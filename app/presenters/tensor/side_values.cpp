#include "app/presenters/tensor/side_values.h"

#include <concepts>
#include <cstring>

namespace msdbg::app {

using core::Complex128;
using core::DType;
using core::Tensor;

namespace {

bool isWhole(DType dtype) { return core::isInteger(dtype) || dtype == DType::Bool; }

std::uint64_t wholeAt(const Tensor& tensor, std::int64_t flatIndex) {
  return core::visitDType(tensor.dtype(), [&](auto type) -> std::uint64_t {
    using T = decltype(type);
    if constexpr (std::integral<T> && !std::same_as<T, bool>)
      return static_cast<std::uint64_t>(tensor.data<T>()[static_cast<std::size_t>(flatIndex)]);
    else
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(tensor.at(flatIndex)));
  });
}

}  // namespace

bool SideValues::whole() const { return isWhole(m_a.dtype()) && isWhole(m_b->dtype()); }
bool SideValues::complex() const { return core::isComplex(m_a.dtype()) || core::isComplex(m_b->dtype()); }

DType SideValues::dtype() const {
  if (!m_b) return m_a.dtype();
  if (complex()) return DType::Complex128;
  return whole() ? DType::Int64 : DType::Float64;
}

// Unsigned: labels and ids of any size may wrap around, but not be undefined.
std::int64_t SideValues::wholeDifference(std::int64_t flatIndex) const {
  return static_cast<std::int64_t>(wholeAt(m_a, flatIndex) - wholeAt(*m_b, flatIndex));
}

Complex128 SideValues::complexDifference(std::int64_t flatIndex) const {
  const Complex128 a = m_a.complexAt(flatIndex), b = m_b->complexAt(flatIndex);
  return {a.real - b.real, a.imag - b.imag};
}

double SideValues::at(std::int64_t flatIndex) const {
  if (!m_b) return m_a.at(flatIndex);
  if (complex()) return core::modulus(complexDifference(flatIndex));
  if (whole()) return static_cast<double>(wholeDifference(flatIndex));
  return m_a.at(flatIndex) - m_b->at(flatIndex);
}

void SideValues::copy(std::int64_t flatIndex, Tensor& into, std::int64_t at) const {
  const auto place = static_cast<std::size_t>(at);
  if (!m_b) {
    const std::size_t size = core::dtypeSize(m_a.dtype());
    memcpy(static_cast<std::byte*>(into.raw()) + place * size,
           static_cast<const std::byte*>(m_a.raw()) + static_cast<std::size_t>(flatIndex) * size, size);
  } else if (complex()) {
    into.data<Complex128>()[place] = complexDifference(flatIndex);
  } else if (whole()) {
    into.data<std::int64_t>()[place] = wholeDifference(flatIndex);
  } else {
    into.data<double>()[place] = this->at(flatIndex);
  }
}

}  // namespace msdbg::app
