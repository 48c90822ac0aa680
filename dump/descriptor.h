// A file descriptor, closed at the end; and the locks by which a reader keeps a file from being used again
// (spare_file.h). One thread at a time.
#pragma once

#include <filesystem>
#include <utility>

namespace msdbg::dump {

class Descriptor {
 public:
  explicit Descriptor(int value = -1) : m_value(value) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : m_value(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(m_value, other.m_value);
    return *this;
  }
  int get() const { return m_value; }
  bool valid() const { return m_value >= 0; }
  int release() { return std::exchange(m_value, -1); }

  /// As others who read it. False: a recorder has it for itself. File systems without locks: true.
  bool lockToRead() const;
  /// Alone. False: somebody reads it, or the file system has no locks.
  bool lockAlone() const;
  void unlock() const;

 private:
  int m_value;
};

/// Whether the open file is what lies at the path: it may have been moved, removed or replaced since.
bool isAt(int descriptor, const std::filesystem::path& path);

/// The file, locked to read for as long as the descriptor lives; not valid: there is none, or no more.
Descriptor openToRead(const std::filesystem::path& file);

}  // namespace msdbg::dump
