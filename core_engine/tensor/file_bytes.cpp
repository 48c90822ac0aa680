#include "core_engine/tensor/file_bytes.h"

#include <cerrno>
#include <cstring>

namespace msdbg::core {

Result<FileBytes> FileBytes::open(const std::filesystem::path& path) {
  std::error_code code;
  FileBytes bytes;
  bytes.m_size = std::filesystem::file_size(path, code);
  if (code)
    return Error(code == std::errc::no_such_file_or_directory ? ErrorCode::kMissing : ErrorCode::kIo,
                 path.string() + ": " + code.message());
  bytes.m_file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*bytes.m_file) return Error(ErrorCode::kIo, path.string() + ": " + std::strerror(errno));
  return bytes;
}

Status FileBytes::read(std::uint64_t from, std::span<std::byte> to) const {
  m_file->clear();
  m_file->seekg(static_cast<std::streamoff>(from));
  m_file->read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
  if (static_cast<std::size_t>(m_file->gcount()) == to.size()) return Ok{};
  return m_file->bad() ? Error(ErrorCode::kIo, std::strerror(errno))
                       : Error(ErrorCode::kDamaged, "is cut short");
}

void tidyBools(Tensor& tensor) {
  if (tensor.dtype() != DType::Bool) return;
  for (std::byte& b : tensor.byteSpan()) b = b == std::byte{0} ? b : std::byte{1};
}

}  // namespace msdbg::core
