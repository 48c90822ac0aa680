// Data in memory, or in NumPy's files, as batches: whatever a program has read or made itself. The loader
// gives rows as they are; images in bytes are brought to floating-point numbers before (Tensor::cast).
//   auto loader = makeArrayLoader({{"x", images}, {"label", labels}}, {.batch = 64}).orThrow();
//   auto loader = makeArrayLoader(readNpz("train.npz").orThrow(), {.batch = 64}).orThrow();
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/train/data.h"

namespace msdbg::core {

/// Tensors by name; of a data set by input name, dimension 0 counting its samples.
using Arrays = std::vector<std::pair<std::string, Tensor>>;

struct ArrayLoaderOptions {
  std::int64_t batch = 64;                    // rows per rank
  std::uint64_t seed = 0;                     // of the order
  std::int64_t firstSample = 0, samples = 0;  // a slice of the data set; 0 samples: all from the first on
  bool shuffle = true;  // false: in the order of the arrays, wrapping around at their end (evaluation)
};
/// Every epoch has an order of its own; rows that do not fill a global batch are left out. The arrays' memory
/// is shared, not copied. kUsage: no arrays, arrays of different numbers of samples (both named), a name
/// twice, an impossible slice or batch (also one of more rows than there are samples).
Result<std::unique_ptr<DataLoader>> makeArrayLoader(Arrays arrays, const ArrayLoaderOptions& options = {});

}  // namespace msdbg::core
