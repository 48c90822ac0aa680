#include "app/presenters/tensor/side_values.h"

#include <cstring>

namespace msdbg::app {

using core::DType;
using core::Tensor;

namespace {

std::uint64_t wholeAt(const Tensor& tensor, std::int64_t flatIndex) {
  if (tensor.dtype() == DType::Int64)
    return static_cast<std::uint64_t>(tensor.data<std::int64_t>()[static_cast<std::size_t>(flatIndex)]);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(tensor.at(flatIndex)));
}

}  // namespace

DType SideValues::dtype() const {
  if (!m_b) return m_a.dtype();
  return whole() ? DType::Int64 : DType::Float64;
}

// Unsigned: labels and ids of any size may wrap around, but not be undefined.
std::int64_t SideValues::wholeDifference(std::int64_t flatIndex) const {
  return static_cast<std::int64_t>(wholeAt(m_a, flatIndex) - wholeAt(*m_b, flatIndex));
}

double SideValues::at(std::int64_t flatIndex) const {
  if (!m_b) return m_a.at(flatIndex);
  if (whole()) return static_cast<double>(wholeDifference(flatIndex));
  return m_a.at(flatIndex) - m_b->at(flatIndex);
}

void SideValues::copy(std::int64_t flatIndex, Tensor& into, std::int64_t at) const {
  const auto place = static_cast<std::size_t>(at);
  if (m_b && whole()) {
    into.data<std::int64_t>()[place] = wholeDifference(flatIndex);
  } else if (m_b) {
    into.data<double>()[place] = this->at(flatIndex);
  } else {
    const std::size_t size = core::dtypeSize(m_a.dtype());
    memcpy(static_cast<std::byte*>(into.raw()) + place * size,
           static_cast<const std::byte*>(m_a.raw()) + static_cast<std::size_t>(flatIndex) * size, size);
  }
}

}  // namespace msdbg::app
