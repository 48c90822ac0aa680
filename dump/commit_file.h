// How a file becomes part of a run: written under another name, fsynced, renamed, its folder fsynced. After a
// crash either the whole file is there or none of it. Thread-safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core_engine/base/ids.h"
#include "core_engine/base/result.h"

namespace msdbg::dump {

/// kIo with path and the system's reason. The temporary file `.NAME.tmp` is removed when something fails.
core::Status commitFile(const std::filesystem::path& file, std::span<const std::byte> bytes);
core::Status commitFile(const std::filesystem::path& file, std::string_view text);
/// The same where several processes may write the file at once: the last one counts.
core::Status commitCopy(const std::filesystem::path& file, std::string_view text);
/// A file that has the name of its content, and that several ranks may write at one time: nothing is done
/// where it is there.
core::Status commitShared(const std::filesystem::path& file, std::string_view text, core::Rank rank);
core::Status syncFolder(const std::filesystem::path& folder);
/// "…: No space left on device" from errno.
core::Error ioError(const std::string& what, const std::filesystem::path& path);
/// The whole file. kMissing, kIo, kDamaged (longer than limit).
core::Result<std::string> readFile(const std::filesystem::path& file, std::size_t limit);
/// The same for a file of any size: `take` gets pieces of pieceBytes, the last one shorter, until it returns
/// false.
core::Status readInPieces(const std::filesystem::path& file, std::size_t pieceBytes,
                          const std::function<bool(std::string_view piece)>& take);

}  // namespace msdbg::dump
