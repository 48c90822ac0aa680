// IDX files (the format of MNIST, http://yann.lecun.com/exdb/mnist): big-endian header, then unsigned bytes;
// plain or gzip'd. The file is not trusted: sizes are checked before anything is allocated. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core_engine/base/result.h"

namespace msdbg::core {

struct IdxFile {
  std::vector<std::int64_t> dims;
  std::vector<std::uint8_t> bytes;  // row-major
};

/// Reads a file of unsigned bytes with `rank` dimensions. kMissing: not there; kDamaged: not such a file,
/// shorter or longer than its header says, broken compression; kIo: cannot be read. All name the path.
Result<IdxFile> readIdx(const std::filesystem::path& path, std::size_t rank);

}  // namespace msdbg::core
