// Files of what the tensor panel shows. Each is written under another name and renamed: nobody ever finds
// half a file. Errors name the path and the reason. Replay thread.
#pragma once

#include <filesystem>
#include <functional>

#include "app/presenters/tensor/picture.h"
#include "core_engine/base/result.h"

namespace msdbg::app {

/// write() gets the temporary name.
core::Status writeThenRename(const std::filesystem::path& file,
                             const std::function<core::Status(const std::filesystem::path&)>& write);

/// A line per row, commas between, no header; numbers read back as the same values.
core::Status writeCsv(const std::filesystem::path& file, const SideValues& values, const SlicePlane& plane);
/// Small pictures are enlarged by a whole factor, so that a pixel is a square that can be seen.
core::Status writePng(const std::filesystem::path& file, const Picture& picture, const SignalColours& signal);

}  // namespace msdbg::app
