// Safetensors files (https://github.com/huggingface/safetensors, "Format"): eight bytes with the length of a
// JSON header, the header (name -> dtype, shape, place of the bytes), the bytes of all tensors. Python's
// package `safetensors` reads what is written here, and the other way round.
#pragma once

#include <filesystem>
#include <map>

#include "core_engine/train/array_loader.h"

namespace msdbg::core {

/// Takes the place of an earlier file only when it is complete. kUsage: a name twice, a dtype that the format
/// has not (complex128, the 8-bit floats without -0); kIo.
Status writeSafetensors(const std::filesystem::path& path, const Arrays& tensors,
                        const std::map<std::string, std::string>& metadata = {});
/// In the order of their bytes. kMissing, kIo; kDamaged: no such file, or places that overlap or do not fill
/// it; kUnsupported: a dtype that tensors have not. The file is named, and the tensor.
Result<Arrays> readSafetensors(const std::filesystem::path& path);

}  // namespace msdbg::core
