#include <cstdlib>
#include <cstring>

#include "dump/hdf5/hdf5_internal.h"

namespace msdbg::dump::hdf5 {
namespace {

constexpr std::size_t kIncrement = 4u << 20;
constexpr std::size_t kEndOfFileAt = 28;  // in a superblock of version 2 or 3 with 8-byte addresses

}  // namespace

// The memory outlives the file: resize only grows it and free leaves it, so that the next segment finds
// mapped pages.
struct FileImage::Buffer {
  void* memory = nullptr;
  std::size_t capacity = 0;

  ~Buffer() { std::free(memory); }

  void* reserve(std::size_t bytes) {
    if (bytes <= capacity) return memory;
    void* grown = std::realloc(memory, bytes);
    if (!grown) return nullptr;
    memory = grown;
    capacity = bytes;
    return memory;
  }

  static void* allocate(std::size_t bytes, H5FD_file_image_op_t, void* self) {
    return static_cast<Buffer*>(self)->reserve(bytes);
  }
  static void* resize(void*, std::size_t bytes, H5FD_file_image_op_t, void* self) {
    return static_cast<Buffer*>(self)->reserve(bytes);
  }
  static herr_t release(void*, H5FD_file_image_op_t, void*) { return 0; }
  static void* same(void* self) { return self; }
  static herr_t keep(void*) { return 0; }
};

FileImage::~FileImage() {
  m_file = Handle();
  delete m_buffer;
}

core::Status FileImage::create(std::size_t expectedBytes) {
  m_file = Handle();  // one that failed half-way still uses the buffer
  if (!m_buffer) m_buffer = new Buffer;
  H5FD_file_image_callbacks_t callbacks = {Buffer::allocate, nullptr,      Buffer::resize, Buffer::release,
                                           Buffer::same,     Buffer::keep, m_buffer};
  // Growing by realloc copies: an increment of the expected size makes it happen once.
  const std::size_t increment = (expectedBytes / kIncrement + 1) * kIncrement;
  MSDBG_ASSIGN(const Handle access, owned(MSDBG_H5(H5Pcreate, H5P_FILE_ACCESS), H5Pclose));
  MSDBG_TRY(MSDBG_H5(H5Pset_fapl_core, access.id(), increment, false));
  MSDBG_TRY(MSDBG_H5(H5Pset_libver_bounds, access.id(), H5F_LIBVER_V110, H5F_LIBVER_V110));
  MSDBG_TRY(MSDBG_H5(H5Pset_file_image_callbacks, access.id(), &callbacks));
  MSDBG_ASSIGN(m_file,
               owned(MSDBG_H5(H5Fcreate, "segment", H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose));
  return core::Ok{};
}

core::Result<std::span<const std::byte>> FileImage::close() {
  MSDBG_TRY(MSDBG_H5(H5Fclose, m_file.release()));
  std::uint64_t end = 0;
  if (m_buffer->capacity < kEndOfFileAt + sizeof end)
    return core::Error(core::ErrorCode::kInternal, "no file image");
  const auto* bytes = static_cast<const std::byte*>(m_buffer->memory);
  std::memcpy(&end, bytes + kEndOfFileAt, sizeof end);
  if (end > m_buffer->capacity)
    return core::Error(core::ErrorCode::kInternal, "file image ends beyond its memory");
  return std::span<const std::byte>(bytes, end);
}

}  // namespace msdbg::dump::hdf5
