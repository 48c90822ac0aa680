// Tensors as files that NumPy reads. Thread-safe.
#pragma once

#include <filesystem>
#include <string>

#include "core_engine/base/result.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::replay {

/// What a tensor's values are written as: their own dtype, or float32, which holds them exactly, where NumPy
/// has none (bfloat16, 8-bit floats). Who writes says so with the note.
core::DType npyDType(core::DType dtype);
std::string npyNote(core::DType dtype);  // " as float32: NumPy has no bfloat16"; "" where it is its own dtype
/// NPY format 1.0, C order, little-endian, as npyDType(). kIo names the file and the reason.
core::Status writeNpy(const std::filesystem::path& file, const core::Tensor& tensor);

}  // namespace msdbg::replay
