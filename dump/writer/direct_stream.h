// DirectStream: bytes that follow one another in a file, written past the page cache (O_DIRECT): gathered in
// an aligned buffer that is used again and again. Where pages are slow to get (virtual machines) or the disk
// is faster than copying into them, that is the faster way; which one is, is measured (way_trial.h). One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "core_engine/base/result.h"
#include "dump/descriptor.h"

namespace msdbg::dump {

/// Memory that begins at a page and is kept from file to file: a page that was used costs nothing.
class DirectBuffer {
 public:
  static constexpr std::size_t kBytes = 4u << 20;
  std::byte* data();

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> m_data;
};

class DirectStream {
 public:
  static constexpr std::uint64_t kAligned =
      4096;  // offsets, sizes and addresses; enough for every disk there is

  /// nullopt: the file system does not write past its cache.
  static std::optional<DirectStream> open(const std::filesystem::path& file,
                                          std::shared_ptr<DirectBuffer> buffer);
  /// `offset` is not before the end of what was appended; what lies between becomes zeros where the buffer
  /// covers it. kIo; kUnsupported when the disk wants something else: what was appended before is in
  /// pending().
  core::Status append(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Writes what is gathered, filled up with zeros to kAligned. More may follow.
  core::Status flush();

  /// What is gathered and not written yet.
  struct Pending {
    std::uint64_t offset;
    std::span<const std::byte> bytes;
  };
  Pending pending() const { return {m_begin, {m_buffer->data(), m_size}}; }
  std::uint64_t end() const { return m_begin + m_size; }

 private:
  DirectStream(Descriptor file, std::filesystem::path path, std::shared_ptr<DirectBuffer> buffer)
      : m_file(std::move(file)), m_path(std::move(path)), m_buffer(std::move(buffer)) {}
  void beginAt(std::uint64_t offset);
  core::Status write(std::size_t bytes);

  Descriptor m_file;
  std::filesystem::path m_path;
  std::shared_ptr<DirectBuffer> m_buffer;
  std::uint64_t m_begin = 0;  // of the buffer, in the file; aligned
  std::size_t m_size = 0;     // gathered
  std::size_t m_written = 0;  // of these, and whole units
};

}  // namespace msdbg::dump
