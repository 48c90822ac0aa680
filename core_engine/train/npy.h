// NumPy's files (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): one array, or an
// archive of several as numpy.savez and savez_compressed write it. Little-endian integers of 8
// to 64 bits, bool, float16, float32, float64, complex64 and complex128 in C order.
#pragma once

#include <filesystem>

#include "core_engine/train/array_loader.h"

namespace msdbg::core {

/// kMissing, kIo; kDamaged: no such file or cut short; kUnsupported: another dtype, Fortran order (both say
/// how to convert). The file is named.
Result<Tensor> readNpy(const std::filesystem::path& path);
/// By name without .npy, in the order of the archive. Errors as above; the array is named too.
Result<Arrays> readNpz(const std::filesystem::path& path);

}  // namespace msdbg::core
