#include <zlib.h>

#include <algorithm>

#include "core_engine/train/zip_file_internal.h"

namespace msdbg::core {
namespace {

constexpr std::uint32_t kMemberMark = 0x04034b50, kDirectoryMark = 0x02014b50, kEnd64Mark = 0x06064b50,
                        kEnd64PlaceMark = 0x07064b50;
constexpr std::size_t kEndSize = 22, kEnd64PlaceSize = 20, kEntrySize = 46, kMemberSize = 30;
constexpr std::uint64_t kDeflateRatio = 1032;  // no deflate stream expands further (zlib's technical notes)
constexpr std::uint64_t kLargestDirectory = std::uint64_t{64} << 20;

Error damaged(const std::string& what) { return {ErrorCode::kDamaged, what}; }

/// Little-endian numbers of a record; places beyond its end are 0.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : m_bytes(bytes) {}
  std::uint64_t number(std::size_t at, std::size_t size) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size && at + i < m_bytes.size(); ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(m_bytes[at + i])) << (8 * i);
    return value;
  }
  std::uint16_t u16(std::size_t at) const { return static_cast<std::uint16_t>(number(at, 2)); }
  std::uint32_t u32(std::size_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }
  std::uint64_t u64(std::size_t at) const { return number(at, 8); }

 private:
  std::string_view m_bytes;
};

Result<std::string> readText(const FileBytes& file, std::uint64_t from, std::uint64_t size) {
  if (from > file.size() || size > file.size() - from) return damaged("is cut short, or no ZIP archive");
  std::string bytes(size, '\0');
  MSDBG_TRY(file.read(from, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

struct Directory {
  std::uint64_t place = 0, size = 0, entries = 0;
};

/// The record at the end of the archive, before a comment of at most 64 KiB.
Result<Directory> findDirectory(const FileBytes& file) {
  const std::uint64_t tail = std::min<std::uint64_t>(file.size(), kEndSize + 0xFFFF);
  MSDBG_ASSIGN(const std::string bytes, readText(file, file.size() - tail, tail));
  const std::size_t at = bytes.rfind(std::string("PK\x05\x06", 4));
  if (at == std::string::npos || bytes.size() - at < kEndSize) return damaged("is no ZIP archive");
  const Fields end(std::string_view(bytes).substr(at));
  const Directory directory{end.u32(16), end.u32(12), end.u16(10)};
  if (directory.place != 0xFFFFFFFF && directory.entries != 0xFFFF) return directory;
  const std::uint64_t endPlace = file.size() - tail + at;
  if (endPlace < kEnd64PlaceSize) return damaged("is no ZIP archive");
  MSDBG_ASSIGN(const std::string place, readText(file, endPlace - kEnd64PlaceSize, kEnd64PlaceSize));
  MSDBG_ASSIGN(const std::string wide, readText(file, Fields(place).u64(8), 56));
  if (Fields(place).u32(0) != kEnd64PlaceMark || Fields(wide).u32(0) != kEnd64Mark)
    return damaged("its 64-bit directory is not where it should be");
  const Fields f(wide);
  return Directory{f.u64(48), f.u64(40), f.u64(32)};
}

/// Numbers that did not fit their 32 bits stand in extra field 1, in this order.
void readWideNumbers(std::string_view extra, ZipMember& member) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const Fields f(extra.substr(at));
    const std::size_t length = f.u16(2);
    if (f.u16(0) == 1) {
      std::size_t next = 4;
      for (std::uint64_t* number : {&member.size, &member.packed, &member.header})
        if (*number == 0xFFFFFFFF) *number = f.u64(next), next += 8;
      return;
    }
    at += 4 + length;
  }
}

Result<ZipMember> readEntry(std::string_view bytes, const FileBytes& file) {
  const Fields f(bytes);
  if (bytes.size() < kEntrySize || f.u32(0) != kDirectoryMark) return damaged("its directory is damaged");
  const std::size_t nameSize = f.u16(28), extraSize = f.u16(30);
  if (bytes.size() - kEntrySize < nameSize + extraSize) return damaged("its directory is cut short");
  ZipMember member{std::string(bytes.substr(kEntrySize, nameSize)),
                   f.u32(42),
                   f.u32(20),
                   f.u32(24),
                   f.u32(16),
                   f.u16(10) == 8};
  readWideNumbers(bytes.substr(kEntrySize + nameSize, extraSize), member);
  if (f.u16(10) != 0 && f.u16(10) != 8)
    return Error(ErrorCode::kUnsupported, member.name + " is compressed by method " +
                                              std::to_string(f.u16(10)) + "; save it with numpy.savez");
  const bool possible =
      member.packed <= file.size() &&
      (member.deflated ? member.size / kDeflateRatio <= member.packed : member.size == member.packed);
  if (!possible) return damaged(member.name + " says that it has " + std::to_string(member.size) + " bytes");
  return member;
}

Status inflateAll(const std::string& packed, std::string& bytes) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Error(ErrorCode::kInternal, "zlib does not start");
  std::size_t in = 0, out = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    constexpr std::size_t kMost = 1 << 30;  // zlib counts in 32 bits
    const std::size_t given = std::min(packed.size() - in, kMost), room = std::min(bytes.size() - out, kMost);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + in));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + out);
    stream.avail_out = static_cast<uInt>(room);
    code = inflate(&stream, Z_NO_FLUSH);
    in += given - stream.avail_in;
    out += room - stream.avail_out;
  }
  inflateEnd(&stream);
  if (code == Z_STREAM_END && out == bytes.size()) return Ok{};
  return damaged("its compressed bytes are damaged");
}

std::uint32_t crcOf(const std::string& bytes) {
  uLong crc = crc32(0, nullptr, 0);
  for (std::size_t at = 0; at < bytes.size(); at += 1 << 30)
    crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes.data() + at),
                static_cast<uInt>(std::min<std::size_t>(bytes.size() - at, 1 << 30)));
  return static_cast<std::uint32_t>(crc);
}

}  // namespace

Result<std::vector<ZipMember>> zipMembers(const FileBytes& file) {
  MSDBG_ASSIGN(const Directory directory, findDirectory(file));
  if (directory.size > kLargestDirectory) return damaged("its directory is too large for one of arrays");
  MSDBG_ASSIGN(const std::string bytes, readText(file, directory.place, directory.size));
  std::vector<ZipMember> members;
  for (std::size_t at = 0; members.size() < directory.entries;) {
    const std::string_view rest = std::string_view(bytes).substr(std::min(at, bytes.size()));
    MSDBG_ASSIGN(ZipMember member, readEntry(rest, file));
    const Fields f(rest);
    at += kEntrySize + f.u16(28) + f.u16(30) + f.u16(32);
    members.push_back(std::move(member));
  }
  return members;
}

Result<std::string> readZipMember(const FileBytes& file, const ZipMember& member) {
  MSDBG_ASSIGN(const std::string header, readText(file, member.header, kMemberSize));
  const Fields f(header);
  if (f.u32(0) != kMemberMark) return damaged("is not where the archive's directory says");
  MSDBG_ASSIGN(std::string bytes,
               readText(file, member.header + kMemberSize + f.u16(26) + f.u16(28), member.packed));
  if (member.deflated) {
    std::string whole(member.size, '\0');
    MSDBG_TRY(inflateAll(bytes, whole));
    bytes = std::move(whole);
  }
  if (crcOf(bytes) != member.crc) return damaged("its check sum differs: the file was changed or torn");
  return bytes;
}

}  // namespace msdbg::core
