// StepwiseFile: commitFile() for one that is large or has time: written piece by piece, each on the disk
// before the next, so that no step takes long; part of the run only after commit(). One thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "core_engine/base/result.h"

namespace msdbg::dump {

class StepwiseFile {
 public:
  /// Creates `.NAME.tmp` beside `file`. kIo with path and reason, as all calls.
  static core::Result<std::unique_ptr<StepwiseFile>> create(const std::filesystem::path& file);
  ~StepwiseFile();  // removes what was not committed
  StepwiseFile(const StepwiseFile&) = delete;
  StepwiseFile& operator=(const StepwiseFile&) = delete;

  core::Status append(std::span<const std::byte> bytes);
  core::Status commit();

 private:
  StepwiseFile(int descriptor, std::filesystem::path file, std::filesystem::path temporary)
      : m_descriptor(descriptor), m_file(std::move(file)), m_temporary(std::move(temporary)) {}
  int m_descriptor;  // -1: committed
  std::filesystem::path m_file, m_temporary;
};

}  // namespace msdbg::dump
