// The HDF5 C library behind one checked call: call() is the only place where its results are looked at. The
// library's own error text goes into the message and never to stderr. Handles are owned and closed in order
// of scope. Threads: the library is used under one lock, so any thread may call; the recorder uses one thread
// only.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/base/result.h"
#include "core_engine/tensor/dtype.h"

namespace msdbg::dump::hdf5 {

std::mutex& libraryMutex();
/// Once per process: error printing off, the zstd filter registered. Done by the first call().
void initialise();
/// The innermost entries of HDF5's error stack as one line; clears the stack. Call with the lock held.
core::Error libraryError(const char* function);

template <typename R, typename... P, typename... A>
core::Result<R> call(const char* name, R (*function)(P...), A&&... arguments) {
  const std::lock_guard lock(libraryMutex());
  initialise();
  const R result = function(std::forward<A>(arguments)...);
  if (result < 0) return libraryError(name);
  return result;
}
#define MSDBG_H5(function, ...) ::msdbg::dump::hdf5::call(#function, function, __VA_ARGS__)

/// An open HDF5 object. Move-only; closes with the function it was made with. A failure to close something
/// that was only read is of no consequence; files being written are closed explicitly (FileImage::close).
class Handle {
 public:
  using Closer = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Closer closer) : m_id(id), m_closer(closer) {}
  Handle(Handle&& other) noexcept : m_id(std::exchange(other.m_id, -1)), m_closer(other.m_closer) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(m_id, other.m_id);
    std::swap(m_closer, other.m_closer);
    return *this;
  }
  // Who writes closes by hand and looks at the answer (FileImage::close); of what was read nothing is lost.
  ~Handle() {
    if (m_id >= 0) (void)call("close", m_closer, m_id);
  }
  hid_t id() const { return m_id; }
  bool valid() const { return m_id >= 0; }
  hid_t release() { return std::exchange(m_id, -1); }

 private:
  hid_t m_id = -1;
  Closer m_closer = nullptr;
};

/// `MSDBG_ASSIGN(Handle h, owned(MSDBG_H5(H5Dopen2, …), H5Dclose))`.
inline core::Result<Handle> owned(core::Result<hid_t> id, Handle::Closer closer) {
  if (!id.ok()) return id.error();
  return Handle(*id, closer);
}

/// The little-endian file type of a dtype; what HDF5 cannot describe is stored as unsigned bytes. Not owned.
hid_t fileType(core::DType dtype);
/// Whether the attribute kDTypeAttribute of a dataset says what its unsigned bytes are.
bool isNamedInFile(core::DType dtype);
inline constexpr const char* kDTypeAttribute = "dtype";
/// What the elements of a dataset of ours are; nullopt: none of the dtypes that this msdbg knows.
core::Result<std::optional<core::DType>> storedDType(hid_t dataset);
std::size_t typeSize(hid_t type);  // bytes

/// Opens a file for reading. Locking is off: run folders may lie on file systems without locks.
core::Result<Handle> openFile(const std::string& path);
/// Every component of the path. kDamaged when one is a soft or an external link: nothing may lead elsewhere.
core::Result<bool> exists(hid_t location, const std::string& path);
/// kDamaged also when a part of the path is a link, or when its data lie in another file.
core::Result<Handle> openDataset(hid_t location, const std::string& path);
/// The names of the datasets below a group, with their path from it, in order; at most `most`. Links and what
/// lies deeper than any name of ours are passed over.
core::Result<std::vector<std::string>> datasetsBelow(hid_t group, std::size_t most);
/// Extents of a dataset. kDamaged when there are more than 32 or one is negative.
core::Result<std::vector<hsize_t>> extents(hid_t dataset);
/// The whole contiguous dataset as bytes; it must have exactly this type and number of elements.
core::Status readAll(hid_t dataset, hid_t type, std::span<std::byte> into);
/// Where the bytes of a contiguous dataset of this type and size begin in the file.
core::Result<std::uint64_t> addressOf(hid_t dataset, hid_t type, std::uint64_t bytes);
/// A 1-dimensional int64 attribute; kDamaged when it is anything else or longer than `limit`.
core::Result<std::vector<std::int64_t>> readIntegers(hid_t object, const std::string& name,
                                                     std::size_t limit);
core::Status writeIntegers(hid_t object, const std::string& name, std::span<const std::int64_t> values);
/// A scalar float32 attribute.
core::Result<float> readFloat(hid_t object, const std::string& name);
core::Status writeFloat(hid_t object, const std::string& name, float value);
core::Status writeText(hid_t object, const std::string& name, const std::string& text);

/// A file that is built in memory and taken as bytes when closed. Chunks of data may lie outside of it, in a
/// region of the file that HDF5 knows only by their addresses; they are written by whoever has them. The
/// memory is reused.
class FileImage {
 public:
  struct Memory;  // of the driver
  FileImage();
  ~FileImage();
  FileImage(const FileImage&) = delete;
  FileImage& operator=(const FileImage&) = delete;

  static constexpr std::uint64_t kDataStart = 65536;
  /// [kDataStart, dataEnd) is the region of placed chunks; 0: there is none.
  core::Status create(std::uint64_t dataEnd);
  hid_t id() const { return m_file.id(); }
  /// The next chunk written, of exactly this size, is at this address: its bytes are not looked at.
  void placeNext(std::uint64_t address, std::uint64_t size);
  bool placed() const;  // what was to be placed has been

  struct Content {
    std::span<const std::byte> head,
        tail;                            // from address 0, and from tailAt on; valid until the next create()
    std::uint64_t tailAt = 0, size = 0;  // of the whole file, the data region included
  };
  core::Result<Content> close();

 private:
  std::unique_ptr<Memory> m_memory;
  Handle m_file;
};

}  // namespace msdbg::dump::hdf5
