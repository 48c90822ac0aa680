// A file of NumPy's with one array (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
// Little-endian integers of 8 to 64 bits, bool, float16, float32, float64, complex64 and complex128 in C
// order. Any thread.
#pragma once

#include <filesystem>
#include <string_view>

#include "core_engine/base/result.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

/// kMissing, kIo; kDamaged: no such file or cut short; kUnsupported: another dtype, Fortran order (both say
/// how to convert). The file is named.
Result<Tensor> readNpy(const std::filesystem::path& path);
/// The same of a file's bytes, whose name the caller knows.
Result<Tensor> npyTensor(std::string_view bytes);

}  // namespace msdbg::core
