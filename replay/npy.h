// Tensors as files that NumPy reads. Thread-safe.
#pragma once

#include <filesystem>

#include "core_engine/base/result.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::replay {

/// NPY format 1.0, C order, little-endian. kIo names the file and the reason.
core::Status writeNpy(const std::filesystem::path& file, const core::Tensor& tensor);

}  // namespace msdbg::replay
