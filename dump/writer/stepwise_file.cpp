#include "dump/writer/stepwise_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "dump/commit_file.h"

namespace msdbg::dump {

core::Result<std::unique_ptr<StepwiseFile>> StepwiseFile::create(const std::filesystem::path& file) {
  std::filesystem::path temporary = file.parent_path() / ("." + file.filename().string() + ".tmp");
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return ioError("cannot create", temporary);
  return std::unique_ptr<StepwiseFile>(new StepwiseFile(descriptor, file, std::move(temporary)));
}

StepwiseFile::~StepwiseFile() {
  if (m_descriptor < 0) return;
  ::close(m_descriptor);
  ::unlink(m_temporary.c_str());
}

core::Status StepwiseFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(m_descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return ioError("cannot write", m_temporary);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (::fdatasync(m_descriptor) != 0) return ioError("cannot write", m_temporary);
  return core::Ok{};
}

core::Status StepwiseFile::commit() {
  if (::fsync(m_descriptor) != 0) return ioError("cannot write", m_temporary);
  if (::rename(m_temporary.c_str(), m_file.c_str()) != 0) return ioError("cannot rename to", m_file);
  ::close(m_descriptor);  // every byte is on the disk already
  m_descriptor = -1;
  return syncFolder(m_file.parent_path());
}

}  // namespace msdbg::dump
