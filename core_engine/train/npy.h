// Archives of NumPy's arrays, as numpy.savez and savez_compressed write them; files of one array are
// core_engine/tensor/npy.h.
#pragma once

#include <filesystem>

#include "core_engine/tensor/npy.h"
#include "core_engine/train/array_loader.h"

namespace msdbg::core {

/// By name without .npy, in the order of the archive. Errors as readNpy(); the array is named too.
Result<Arrays> readNpz(const std::filesystem::path& path);

}  // namespace msdbg::core
