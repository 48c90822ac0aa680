#include "app/presenters/tensor/slice_plane.h"

#include <algorithm>
#include <cassert>

#include "replay/inspect.h"

namespace msdbg::app {

SlicePlane::SlicePlane(core::Shape shape) : m_valid(true), m_shape(std::move(shape)) {
  assert(m_shape.known());
  const int rank = static_cast<int>(m_shape.rank());
  m_index.assign(m_shape.rank(), 0);
  if (rank == 1) m_row = 0;
  if (rank >= 2) m_row = rank - 2, m_column = rank - 1;
}

std::int64_t SlicePlane::sizeOf(int dimension) const {
  if (!m_valid || m_shape.elements() == 0) return 0;
  return dimension < 0 ? 1 : m_shape[static_cast<std::size_t>(dimension)];
}

void SlicePlane::setRowDimension(int dimension) {
  if (dimension == m_column) m_column = m_row;
  m_row = dimension;
}

void SlicePlane::setColumnDimension(int dimension) {
  if (dimension == m_row) m_row = m_column;
  m_column = dimension;
}

void SlicePlane::setIndex(int dimension, std::int64_t index) {
  const auto d = static_cast<std::size_t>(dimension);
  m_index[d] = std::clamp<std::int64_t>(index, 0, std::max<std::int64_t>(m_shape[d] - 1, 0));
}

void SlicePlane::show(std::int64_t flatIndex) {
  const std::vector<std::int64_t> index = replay::indexOf(m_shape, flatIndex);
  for (int d = 0; d < static_cast<int>(index.size()); ++d)
    if (d != m_row && d != m_column)
      m_index[static_cast<std::size_t>(d)] = index[static_cast<std::size_t>(d)];
}

std::int64_t SlicePlane::flatIndex(std::int64_t row, std::int64_t column) const {
  std::int64_t flat = 0;
  for (int d = 0; d < static_cast<int>(m_shape.rank()); ++d) {
    const std::int64_t at = d == m_row ? row : d == m_column ? column : index(d);
    flat = flat * m_shape[static_cast<std::size_t>(d)] + at;
  }
  return flat;
}

std::int64_t SlicePlane::along(int dimension, std::int64_t flatIndex) const {
  return dimension < 0 ? 0 : replay::indexOf(m_shape, flatIndex)[static_cast<std::size_t>(dimension)];
}

std::string SlicePlane::sliceText() const {
  std::string text;
  bool whole = true;
  for (int d = 0; d < static_cast<int>(m_shape.rank()); ++d) {
    const bool seen = d == m_row || d == m_column;
    whole = whole && seen;
    text += (d ? "," : "") + (seen ? std::string(":") : std::to_string(index(d)));
  }
  return whole ? std::string() : text;
}

}  // namespace msdbg::app
