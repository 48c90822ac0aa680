// Spread: where in a tensor its differing elements lie: a last block that is not full, the last rows, every
// sixteenth column. That is how wrong kernels show: by their tails and lanes. Values; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core_engine/tensor/tensor.h"

namespace msdbg::replay {

struct Spread {
  /// Of the positions along a dimension at which anything differs.
  struct Dimension {
    std::int64_t size = 0;             // of the tensor
    std::int64_t first = 0, last = 0;  // of these positions
    std::int64_t count = 0;            // of these positions
    std::int64_t step = 1;             // they are this far apart, or multiples of it
    bool all() const { return count == size; }
  };
  std::vector<Dimension> dimensions;  // empty: nothing differs, or a scalar
};

class SpreadBuilder {
 public:
  explicit SpreadBuilder(const core::Shape& shape) : m_shape(shape) {}
  void add(std::int64_t flatIndex);  // ascending
  Spread finish() const;

 private:
  core::Shape m_shape;
  std::int64_t m_last = -1;
  std::vector<std::int64_t> m_index;         // of m_last
  std::vector<std::vector<bool>> m_touched;  // by dimension, by position
};

/// "only in the last 3 of dimension 0, behind its last whole block of 16"; "everywhere"; "scattered" where
/// no dimension tells anything.
std::string spreadText(const Spread& spread, std::int64_t different, std::int64_t elements);

}  // namespace msdbg::replay
