// What a forked child does about the files of a run that its parent records.
#pragma once

#include <filesystem>

namespace msdbg::dump {

/// Closes every descriptor of this process that leads below the folder: a lock on a journal (flock) would
/// else live as long as the child. For a child right after fork(), which has one thread.
void closeFilesOf(const std::filesystem::path& folder) noexcept;

}  // namespace msdbg::dump
