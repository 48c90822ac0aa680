#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "dump/reader/column_internal.h"

namespace msdbg::dump {
namespace {

using hdf5::Handle;

constexpr std::uint64_t kStreamed = 4 * core::kBlockBytes;

core::Error damaged(const std::string& what) { return {core::ErrorCode::kDamaged, what}; }

core::Status readAt(int descriptor, std::uint64_t address, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(descriptor, into.data(), into.size(), static_cast<off_t>(address));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return core::Error(core::ErrorCode::kIo, std::strerror(errno));
    if (got == 0) return damaged("its data lie behind the end of the file");
    address += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return core::Ok{};
}

core::Result<core::Hash128> recordedHash(hid_t file, const std::string& path) {
  core::Hash128 hash;
  MSDBG_ASSIGN(const Handle hashes, hdf5::openDataset(file, "/checksum" + path));
  MSDBG_TRY(hdf5::readAll(hashes.id(), H5T_STD_U64LE, std::as_writable_bytes(std::span(&hash, 1))));
  return hash;
}

// Before anything is read or memory taken: more than the file has cannot be there.
core::Result<std::uint64_t> bytesOf(hid_t type, std::span<const hsize_t> dims, std::uint64_t fileBytes) {
  std::uint64_t bytes = H5Tget_size(type);
  for (const hsize_t d : dims) {
    if (d == 0 || bytes > fileBytes / d) return damaged("impossible extents");
    bytes *= d;
  }
  return bytes;
}

}  // namespace

core::Result<Column> Column::open(const SegmentFileInfo& segment, const std::string& path, hid_t type,
                                  std::span<const hsize_t> dims) {
  MSDBG_ASSIGN(const Handle dataset, hdf5::openDataset(segment.file, path));
  MSDBG_ASSIGN(const std::vector<hsize_t> actual, hdf5::extents(dataset.id()));
  if (!std::ranges::equal(dims, actual)) return damaged("unexpected extents");
  Column column;
  column.m_descriptor = segment.descriptor;
  MSDBG_ASSIGN(column.m_bytes, bytesOf(type, dims, segment.fileBytes));
  MSDBG_ASSIGN(column.m_address, hdf5::addressOf(dataset.id(), type, column.m_bytes));
  if (column.m_address > segment.fileBytes - column.m_bytes)
    return damaged("its data lie behind the end of the file");
  const auto piece = std::make_unique_for_overwrite<std::byte[]>(std::min(kStreamed, column.m_bytes));
  for (std::uint64_t at = 0; at < column.m_bytes; at += kStreamed)
    MSDBG_TRY(
        column.readBlocks(at, {piece.get(), std::min(kStreamed, column.m_bytes - at)}, column.m_blocks));
  MSDBG_ASSIGN(const core::Hash128 hash, recordedHash(segment.file, path));
  if (core::hashOfBlocks(column.m_blocks) != hash) return damaged("does not match its hash");
  return column;
}

core::Status Column::readBlocks(std::uint64_t first, std::span<std::byte> into,
                                std::vector<core::Hash128>& hashes) const {
  MSDBG_TRY(readAt(m_descriptor, m_address + first, into));
  for (std::size_t at = 0; at < into.size(); at += core::kBlockBytes)
    hashes.push_back(core::hashBlock(into.subspan(at, std::min(core::kBlockBytes, into.size() - at))));
  return core::Ok{};
}

core::Status Column::read(std::uint64_t first, std::span<std::byte> into) const {
  std::vector<core::Hash128> hashes;
  MSDBG_TRY(readBlocks(first, into, hashes));
  const auto known = m_blocks.begin() + static_cast<std::ptrdiff_t>(first / core::kBlockBytes);
  if (std::equal(hashes.begin(), hashes.end(), known)) return core::Ok{};
  return damaged("does not match its hash any more: the file was changed while it was read");
}

core::Result<hsize_t> lengthOf(hid_t file, const std::string& path) {
  const auto length = [&]() -> core::Result<hsize_t> {
    MSDBG_ASSIGN(const Handle dataset, hdf5::openDataset(file, path));
    MSDBG_ASSIGN(const std::vector<hsize_t> dims, hdf5::extents(dataset.id()));
    if (dims.size() != 1) return damaged("unexpected extents");
    return dims[0];
  }();
  return length.ok() ? length : length.error().in(path);
}

core::Result<std::vector<std::byte>> readColumn(const SegmentFileInfo& segment, const std::string& path,
                                                hid_t type, std::span<const hsize_t> dims) {
  MSDBG_ASSIGN(const Column column, Column::open(segment, path, type, dims));
  std::vector<std::byte> bytes(column.bytes());
  MSDBG_TRY(column.read(0, bytes));
  return bytes;
}

}  // namespace msdbg::dump
