// A file read by place, for readers of array files; and what they do with bools from outside. One thread.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

#include "core_engine/base/result.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

class FileBytes {
 public:
  /// kMissing, kIo; the path is in the message.
  static Result<FileBytes> open(const std::filesystem::path& path);
  std::uint64_t size() const { return m_size; }
  /// kDamaged: the file ends before; kIo.
  Status read(std::uint64_t from, std::span<std::byte> to) const;

 private:
  std::unique_ptr<std::ifstream> m_file;
  std::uint64_t m_size = 0;
};

/// Anything but 0 and 1 would be no bool.
void tidyBools(Tensor& tensor);

}  // namespace msdbg::core
