// core::hashBytes of a whole file, read piece by piece. Thread-safe.
#pragma once

#include <filesystem>
#include <string>

#include "core_engine/base/cancel.h"
#include "core_engine/base/result.h"

namespace msdbg::dump {

/// 32 hexadecimal digits. kMissing, kIo, kCancelled.
core::Result<std::string> hashFile(const std::filesystem::path& file, const core::CancelToken& cancel);

}  // namespace msdbg::dump
