#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "dump/hdf5/hdf5_internal.h"

namespace msdbg::dump::hdf5 {
namespace {

constexpr std::uint64_t kHead = 512;  // the superblock; what lies between it and dataEnd is not HDF5's
constexpr std::size_t kIncrement = 1u << 20;

}  // namespace

// The memory outlives the file, so that the next one finds mapped pages, and is not of the heap, where an
// image of megabytes for each merge leaves holes that nothing fills. Addresses from dataEnd on follow the
// head.
struct FileImage::Memory {
  std::byte* bytes = nullptr;
  std::size_t capacity = 0;
  std::uint64_t dataEnd = 0;           // 0: no data region
  std::uint64_t end = 0, written = 0;  // of the addresses given out; of those written
  std::uint64_t place = 0, placeSize = 0;

  ~Memory() {
    if (bytes) ::munmap(bytes, capacity);
  }

  void begin(std::uint64_t dataRegionEnd) {
    dataEnd = dataRegionEnd;
    end = written = place = placeSize = 0;
    if (reserve(kHead)) std::memset(bytes, 0, kHead);
  }
  bool inData(std::uint64_t address) const { return address >= kHead && address < dataEnd; }
  std::size_t at(std::uint64_t address) const {
    return address < dataEnd || dataEnd == 0 ? address : address - dataEnd + kHead;
  }
  bool reserve(std::size_t size) {
    if (size <= capacity) return true;
    const std::size_t wanted = std::max(size + kIncrement, capacity + capacity / 2);
    void* const grown =
        bytes ? ::mremap(bytes, capacity, wanted, MREMAP_MAYMOVE)
              : ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown == MAP_FAILED) return false;
    bytes = static_cast<std::byte*>(grown);
    capacity = wanted;
    return true;
  }
  // What is given out is zeros, also where it held an earlier file.
  bool growTo(std::uint64_t newEnd) {
    if (newEnd > end) {
      if (!reserve(at(newEnd))) return false;
      std::memset(bytes + at(end), 0, newEnd - end);
    }
    end = newEnd;
    return true;
  }
  haddr_t allocate(std::uint64_t size) {
    if (end < dataEnd) end = dataEnd;
    const std::uint64_t address = end;
    return growTo(end + size) ? address : HADDR_UNDEF;
  }
};

namespace {

using Memory = FileImage::Memory;

struct File {
  H5FD_t base;  // first: HDF5 knows only this
  Memory* memory;
};
Memory& memoryOf(const H5FD_t* file) { return *reinterpret_cast<const File*>(file)->memory; }

H5FD_t* openImage(const char*, unsigned, hid_t access, haddr_t) {
  const auto* memory = static_cast<Memory* const*>(H5Pget_driver_info(access));
  if (!memory) return nullptr;
  return &(new File{{}, *memory})->base;
}
herr_t closeImage(H5FD_t* file) {
  delete reinterpret_cast<File*>(file);
  return 0;
}
herr_t queryImage(const H5FD_t*, unsigned long* flags) {
  *flags = 0;  // nothing is gathered: every object gets the room that it asks for
  return 0;
}
haddr_t allocateInImage(H5FD_t* file, H5FD_mem_t type, hid_t, hsize_t size) {
  Memory& memory = memoryOf(file);
  if (type == H5FD_MEM_DRAW && memory.placeSize == size && size > 0) {
    memory.placeSize = 0;
    return memory.place;
  }
  return memory.allocate(size);
}
haddr_t endOfImage(const H5FD_t* file, H5FD_mem_t) { return memoryOf(file).end; }
herr_t setEndOfImage(H5FD_t* file, H5FD_mem_t, haddr_t end) { return memoryOf(file).growTo(end) ? 0 : -1; }
haddr_t writtenOfImage(const H5FD_t* file, H5FD_mem_t) { return memoryOf(file).written; }

herr_t readImage(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* into) {
  Memory& memory = memoryOf(file);
  if (memory.inData(address) || !memory.reserve(memory.at(address) + size)) return -1;
  std::memcpy(into, memory.bytes + memory.at(address), size);
  return 0;
}
herr_t writeImage(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, const void* from) {
  Memory& memory = memoryOf(file);
  memory.written = std::max<std::uint64_t>(memory.written, address + size);
  if (memory.inData(address)) return 0;  // placed: these bytes are where they belong already
  if (!memory.reserve(memory.at(address) + size)) return -1;
  std::memcpy(memory.bytes + memory.at(address), from, size);
  return 0;
}
herr_t truncateImage(H5FD_t*, hid_t, hbool_t) { return 0; }

// A driver of the library for files in memory, like its own core driver, that does not insist on having every
// byte.
hid_t imageDriver() {
  static const hid_t driver = [] {
    static H5FD_class_t how = {};
#if H5_VERSION_GE(1, 13, 0)
    how.version = H5FD_CLASS_VERSION;
    how.value = static_cast<H5FD_class_value_t>(601);  // not registered: files do not name it
#endif
    how.name = "msdbg segment";
    how.maxaddr = HADDR_MAX / 2;
    how.fc_degree = H5F_CLOSE_WEAK;
    how.fapl_size = sizeof(Memory*);
    how.open = openImage;
    how.close = closeImage;
    how.query = queryImage;
    how.alloc = allocateInImage;
    how.get_eoa = endOfImage;
    how.set_eoa = setEndOfImage;
    how.get_eof = writtenOfImage;
    how.read = readImage;
    how.write = writeImage;
    how.truncate = truncateImage;
    const H5FD_mem_t apart[] = H5FD_FLMAP_DICHOTOMY;  // a chunk never gets the room of freed metadata
    std::memcpy(how.fl_map, apart, sizeof apart);
    return H5FDregister(&how);
  }();
  return driver;
}

}  // namespace

FileImage::FileImage() : m_memory(std::make_unique<Memory>()) {}
FileImage::~FileImage() { m_file = Handle(); }  // it uses the memory

core::Status FileImage::create(std::uint64_t dataEnd) {
  m_file = Handle();  // one that failed half-way still uses the memory
  m_memory->begin(dataEnd);
  Memory* const memory = m_memory.get();
  MSDBG_ASSIGN(const Handle access, owned(MSDBG_H5(H5Pcreate, H5P_FILE_ACCESS), H5Pclose));
  MSDBG_ASSIGN(const hid_t driver, call("H5FDregister", imageDriver));
  MSDBG_TRY(MSDBG_H5(H5Pset_driver, access.id(), driver, &memory));
  MSDBG_TRY(MSDBG_H5(H5Pset_libver_bounds, access.id(), H5F_LIBVER_V110, H5F_LIBVER_V110));
  MSDBG_ASSIGN(m_file,
               owned(MSDBG_H5(H5Fcreate, "segment", H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose));
  return core::Ok{};
}

void FileImage::placeNext(std::uint64_t address, std::uint64_t size) {
  m_memory->place = address;
  m_memory->placeSize = size;
}
bool FileImage::placed() const { return m_memory->placeSize == 0; }

core::Result<FileImage::Content> FileImage::close() {
  MSDBG_TRY(MSDBG_H5(H5Fclose, m_file.release()));
  const Memory& memory = *m_memory;
  Content content;
  content.size = memory.end;
  const std::span<const std::byte> all(memory.bytes, memory.at(memory.end));
  if (memory.dataEnd == 0) {
    content.head = all;
  } else {
    content.head = all.first(kHead);
    content.tail = all.subspan(kHead);
    content.tailAt = memory.dataEnd;
  }
  return content;
}

}  // namespace msdbg::dump::hdf5
