#include "dump/writer/direct_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "dump/commit_file.h"

namespace msdbg::dump {
namespace {

std::uint64_t roundedDown(std::uint64_t at) { return at / DirectStream::kAligned * DirectStream::kAligned; }
std::uint64_t roundedUp(std::uint64_t at) { return roundedDown(at + DirectStream::kAligned - 1); }

}  // namespace

void DirectBuffer::Free::operator()(std::byte* p) const { std::free(p); }

std::byte* DirectBuffer::data() {
  if (!m_data) m_data.reset(static_cast<std::byte*>(std::aligned_alloc(DirectStream::kAligned, kBytes)));
  if (!m_data) throw std::bad_alloc();
  return m_data.get();
}

std::optional<DirectStream> DirectStream::open(const std::filesystem::path& file,
                                               std::shared_ptr<DirectBuffer> buffer) {
  Descriptor descriptor(::open(file.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
  if (!descriptor.valid()) return std::nullopt;
  return DirectStream(std::move(descriptor), file, std::move(buffer));
}

void DirectStream::beginAt(std::uint64_t offset) {
  m_begin = roundedDown(offset);
  m_size = static_cast<std::size_t>(offset - m_begin);
  m_written = 0;
  std::memset(m_buffer->data(), 0, m_size);
}

core::Status DirectStream::append(std::uint64_t offset, std::span<const std::byte> bytes) {
  // A hole of the file stays one where it is larger than what is left of the buffer.
  if (offset - m_begin >= DirectBuffer::kBytes || m_size == 0) {
    MSDBG_TRY(flush());
    beginAt(offset);
  }
  const auto gap = static_cast<std::size_t>(offset - end());
  std::memset(m_buffer->data() + m_size, 0, gap);
  m_size += gap;
  while (!bytes.empty()) {
    const std::size_t now = std::min(bytes.size(), DirectBuffer::kBytes - m_size);
    std::memcpy(m_buffer->data() + m_size, bytes.data(), now);
    m_size += now;
    bytes = bytes.subspan(now);
    if (m_size < DirectBuffer::kBytes) break;
    MSDBG_TRY(write(m_size));
    beginAt(end());
  }
  return core::Ok{};
}

core::Status DirectStream::flush() {
  const auto padded = static_cast<std::size_t>(roundedUp(m_size));
  std::memset(m_buffer->data() + m_size, 0, padded - m_size);
  MSDBG_TRY(write(padded));
  m_written = static_cast<std::size_t>(roundedDown(m_size));  // the last unit may become fuller
  return core::Ok{};
}

core::Status DirectStream::write(std::size_t bytes) {
  while (m_written < bytes) {
    const ssize_t put = ::pwrite(m_file.get(), m_buffer->data() + m_written, bytes - m_written,
                                 static_cast<off_t>(m_begin + m_written));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EINVAL)
      return core::Error(core::ErrorCode::kUnsupported, "the disk takes no direct writes of this kind");
    if (put >= 0 && static_cast<std::uint64_t>(put) < kAligned) errno = ENOSPC;
    if (put < 0 || static_cast<std::uint64_t>(put) < kAligned) return ioError("cannot write", m_path);
    m_written = static_cast<std::size_t>(roundedDown(m_written + static_cast<std::uint64_t>(put)));
  }
  return core::Ok{};
}

}  // namespace msdbg::dump
