// SlicePlane: the two dimensions of a tensor that are seen as rows and columns, and where the others stand.
// A vector is one column, a scalar one cell. A value; no threading contract.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core_engine/tensor/tensor.h"

namespace msdbg::app {

class SlicePlane {
 public:
  SlicePlane() = default;  // of nothing: no rows
  /// The last two dimensions are rows and columns, the others at 0. Dimensions must be known.
  explicit SlicePlane(core::Shape shape);

  bool valid() const { return m_valid; }
  const core::Shape& shape() const { return m_shape; }
  int rowDimension() const { return m_row; }        // -1: there is only one row
  int columnDimension() const { return m_column; }  // -1: there is only one column
  std::int64_t index(int dimension) const { return m_index[static_cast<std::size_t>(dimension)]; }
  std::int64_t rows() const { return sizeOf(m_row); }
  std::int64_t columns() const { return sizeOf(m_column); }

  /// The two dimensions swap when the one asked for is the other's.
  void setRowDimension(int dimension);
  void setColumnDimension(int dimension);
  void setIndex(int dimension, std::int64_t index);  // clamped
  /// Moves the other dimensions so that the element is on the plane.
  void show(std::int64_t flatIndex);

  std::int64_t flatIndex(std::int64_t row, std::int64_t column) const;
  /// Between two columns of a row, in elements.
  std::int64_t columnStride() const { return columns() > 1 ? flatIndex(0, 1) - flatIndex(0, 0) : 0; }
  /// Where an element that is on the plane stands.
  std::int64_t rowOf(std::int64_t flatIndex) const { return along(m_row, flatIndex); }
  std::int64_t columnOf(std::int64_t flatIndex) const { return along(m_column, flatIndex); }

  /// As `--slice` takes it: "3,0,:,:"; "" when the plane is the whole tensor.
  std::string sliceText() const;
  bool operator==(const SlicePlane&) const = default;

 private:
  std::int64_t sizeOf(int dimension) const;
  std::int64_t along(int dimension, std::int64_t flatIndex) const;
  bool m_valid = false;
  core::Shape m_shape;
  int m_row = -1, m_column = -1;
  std::vector<std::int64_t> m_index;  // one per dimension; those of the plane's two do not count
};

}  // namespace msdbg::app
