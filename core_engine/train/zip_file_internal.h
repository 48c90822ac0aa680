// The part of ZIP (PKWARE's APPNOTE.TXT) that NumPy's archives use: members stored or deflated, sizes beyond
// 4 GiB in the 64-bit extra field; no encryption, one disk. What a file says is checked against its size
// before anything is allocated. One thread.
#pragma once

#include <string>
#include <vector>

#include "core_engine/tensor/file_bytes.h"

namespace msdbg::core {

struct ZipMember {
  std::string name;
  std::uint64_t header = 0;  // place of its local header
  std::uint64_t packed = 0, size = 0;
  std::uint32_t crc = 0;
  bool deflated = false;
};

/// In the order of the archive's directory. kDamaged: no ZIP file; kUnsupported: another compression.
Result<std::vector<ZipMember>> zipMembers(const FileBytes& file);
/// Its bytes; kDamaged also where the check sum differs.
Result<std::string> readZipMember(const FileBytes& file, const ZipMember& member);

}  // namespace msdbg::core
