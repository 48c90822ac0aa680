#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "core_engine/train/idx_file_internal.h"

namespace msdbg::core {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kDeflateRatio = 1032;  // no deflate stream expands further (zlib's technical notes)

struct CloseGz {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzFile = std::unique_ptr<gzFile_s, CloseGz>;

Error damaged(const std::string& what) { return {ErrorCode::kDamaged, what}; }

// zlib reads plain files as they are.
Result<GzFile> openFile(const std::filesystem::path& path) {
  GzFile file(gzopen(path.c_str(), "rb"));
  if (!file) return Error(errno == ENOENT ? ErrorCode::kMissing : ErrorCode::kIo, std::strerror(errno));
  gzbuffer(file.get(), 1 << 17);
  return file;
}

std::string zlibMessage(gzFile file) {
  int code = Z_OK;
  const char* text = gzerror(file, &code);
  return code == Z_ERRNO ? std::strerror(errno) : text;
}

Status readBytes(gzFile file, std::span<std::uint8_t> bytes, const char* what) {
  while (!bytes.empty()) {
    const unsigned wanted = static_cast<unsigned>(std::min<std::size_t>(bytes.size(), 1 << 24));
    const int got = gzread(file, bytes.data(), wanted);
    if (got < 0) return damaged(std::string(what) + " cannot be read: " + zlibMessage(file));
    if (got == 0) return damaged("ends within its " + std::string(what));
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return Ok{};
}

Result<std::uint32_t> readNumber(gzFile file) {
  std::uint8_t b[4] = {};
  MSDBG_TRY(readBytes(file, b, "header"));
  return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
}

// Two zero bytes, 8 for unsigned bytes, the number of dimensions; then the dimensions.
Result<std::vector<std::int64_t>> readHeader(gzFile file, std::size_t rank) {
  MSDBG_ASSIGN(const std::uint32_t magic, readNumber(file));
  if (magic != (0x800u | rank))
    return damaged("is not an IDX file of unsigned bytes with " + std::to_string(rank) +
                   " dimensions (magic number " + std::to_string(magic) + ")");
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < rank; ++i) {
    MSDBG_ASSIGN(const std::uint32_t dim, readNumber(file));
    dims.push_back(dim);
  }
  return dims;
}

/// The number of bytes that the header promises, if a file of this size can hold them.
Result<std::uint64_t> promisedBytes(const std::vector<std::int64_t>& dims, std::uint64_t fileSize,
                                    bool plain) {
  const std::uint64_t header = 4 + 4 * dims.size();
  const std::uint64_t most = plain ? fileSize - header : std::min(kMostBytes, kDeflateRatio * fileSize);
  std::uint64_t bytes = 1;
  for (const std::int64_t dim : dims) {
    if (dim == 0) return damaged("says that it is empty");
    if (static_cast<std::uint64_t>(dim) > most / bytes) return damaged("is shorter than its header says");
    bytes *= static_cast<std::uint64_t>(dim);
  }
  return bytes;
}

Result<IdxFile> read(const std::filesystem::path& path, std::size_t rank) {
  MSDBG_ASSIGN(const GzFile file, openFile(path));
  std::error_code code;
  const std::uint64_t size = std::filesystem::file_size(path, code);
  if (code) return Error(ErrorCode::kIo, code.message());
  IdxFile idx;
  MSDBG_ASSIGN(idx.dims, readHeader(file.get(), rank));
  MSDBG_ASSIGN(const std::uint64_t bytes, promisedBytes(idx.dims, size, gzdirect(file.get()) == 1));
  idx.bytes.resize(bytes);
  MSDBG_TRY(readBytes(file.get(), idx.bytes, "data"));
  std::uint8_t beyond = 0;
  const int more = gzread(file.get(), &beyond, 1);  // also makes zlib compare the check sum
  if (more < 0) return damaged("data cannot be read: " + zlibMessage(file.get()));
  if (more > 0) return damaged("is longer than its header says");
  return idx;
}

}  // namespace

Result<IdxFile> readIdx(const std::filesystem::path& path, std::size_t rank) {
  Result<IdxFile> idx = read(path, rank);
  if (!idx.ok()) return idx.error().in(path.string());
  return idx;
}

}  // namespace msdbg::core
