#include "dump/hdf5/zstd_filter.h"

#include <hdf5.h>
#include <zstd.h>

#include <cstdlib>

namespace msdbg::dump::hdf5 {
namespace {

constexpr unsigned long long kLargestChunk = 1ull << 32;  // HDF5's own limit

std::size_t replace(void** buffer, std::size_t* capacity, void* fresh, std::size_t freshCapacity,
                    std::size_t used) {
  if (ZSTD_isError(used)) {
    std::free(fresh);
    return 0;  // HDF5's way of saying that a filter failed
  }
  std::free(*buffer);  // HDF5's chunk buffers are plain malloc
  *buffer = fresh;
  *capacity = freshCapacity;
  return used;
}

std::size_t decompress(std::size_t bytes, std::size_t* capacity, void** buffer) {
  const unsigned long long size = ZSTD_getFrameContentSize(*buffer, bytes);
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size == 0 || size > kLargestChunk)
    return 0;
  void* fresh = std::malloc(size);
  if (!fresh) return 0;
  return replace(buffer, capacity, fresh, size, ZSTD_decompress(fresh, size, *buffer, bytes));
}

std::size_t compress(int level, std::size_t bytes, std::size_t* capacity, void** buffer) {
  const std::size_t bound = ZSTD_compressBound(bytes);
  void* fresh = std::malloc(bound);
  if (!fresh) return 0;
  return replace(buffer, capacity, fresh, bound, ZSTD_compress(fresh, bound, *buffer, bytes, level));
}

std::size_t filter(unsigned flags, std::size_t parameters, const unsigned* values, std::size_t bytes,
                   std::size_t* capacity, void** buffer) {
  if (flags & H5Z_FLAG_REVERSE) return decompress(bytes, capacity, buffer);
  return compress(parameters > 0 ? static_cast<int>(values[0]) : ZSTD_CLEVEL_DEFAULT, bytes, capacity,
                  buffer);
}

}  // namespace

const void* zstdFilterClass() {
  static const H5Z_class2_t filterClass = {
      H5Z_CLASS_T_VERS, kZstdFilter, 1, 1, "zstd (filter 32015, by msdbg)", nullptr, nullptr, filter};
  return &filterClass;
}

}  // namespace msdbg::dump::hdf5
