#include "dump/hdf5/at_exit.h"
#include "dump/hdf5/hdf5_internal.h"
#include "dump/hdf5/zstd_filter.h"

namespace msdbg::dump {

void prepareHdf5() {
  const std::lock_guard lock(hdf5::libraryMutex());
  hdf5::initialise();
}
void skipHdf5Cleanup() { H5dont_atexit(); }

}  // namespace msdbg::dump

namespace msdbg::dump::hdf5 {
namespace {

// The first that says something: the walk begins where the failure was. What follows is HDF5's call stack.
herr_t takeReason(unsigned, const H5E_error2_t* entry, void* into) {
  auto& text = *static_cast<std::string*>(into);
  if (text.empty() && entry->desc) text = entry->desc;
  return 0;
}

}  // namespace

std::mutex& libraryMutex() {
  static std::mutex mutex;
  return mutex;
}

void initialise() {
  static const bool done = [] {
    H5open();
    H5Zregister(zstdFilterClass());
    return true;
  }();
  (void)done;
  // Per thread in a thread-safe build of the library.
  thread_local const bool quiet = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  (void)quiet;
}

core::Error libraryError(const char* function) {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, takeReason, &text);
  H5Eclear2(H5E_DEFAULT);
  return {core::ErrorCode::kDamaged, std::string(function) + " failed (HDF5: " + text + ")"};
}

core::Result<Handle> openFile(const std::string& path) {
  MSDBG_ASSIGN(const Handle access, owned(MSDBG_H5(H5Pcreate, H5P_FILE_ACCESS), H5Pclose));
  MSDBG_ASSIGN(const herr_t unlocked, MSDBG_H5(H5Pset_file_locking, access.id(), false, true));
  (void)unlocked;
  return owned(MSDBG_H5(H5Fopen, path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
}

static bool isDataset(hid_t location, const std::string& path) {
  H5O_info_t info;
  const auto read =
      MSDBG_H5(H5Oget_info_by_name2, location, path.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT);
  return read.ok() && info.type == H5O_TYPE_DATASET;
}

// A soft or external link, and data that lie in other files, would lead out of the file: to any file that
// the user may read, or to a pipe that never ends.
core::Result<bool> exists(hid_t location, const std::string& path) {
  std::string before;
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    const core::Result<htri_t> there = MSDBG_H5(H5Lexists, location, part.c_str(), H5P_DEFAULT);
    if (!there && !before.empty() && isDataset(location, before)) return false;  // nothing is below one
    if (!there) return there.error();
    if (*there == 0) return false;
    before = part;
    H5L_info_t link;
    MSDBG_TRY(MSDBG_H5(H5Lget_info, location, part.c_str(), &link, H5P_DEFAULT));
    if (link.type != H5L_TYPE_HARD) return core::Error(core::ErrorCode::kDamaged, part + " is a link");
    if (at == std::string::npos) return true;
  }
}

core::Result<Handle> openDataset(hid_t location, const std::string& path) {
  MSDBG_ASSIGN(const bool there, exists(location, path));
  if (!there) return core::Error(core::ErrorCode::kDamaged, "it is missing");
  MSDBG_ASSIGN(Handle dataset, owned(MSDBG_H5(H5Dopen2, location, path.c_str(), H5P_DEFAULT), H5Dclose));
  MSDBG_ASSIGN(const Handle list, owned(MSDBG_H5(H5Dget_create_plist, dataset.id()), H5Pclose));
  MSDBG_ASSIGN(const H5D_layout_t layout, MSDBG_H5(H5Pget_layout, list.id()));
  MSDBG_ASSIGN(const int elsewhere, MSDBG_H5(H5Pget_external_count, list.id()));
  if (elsewhere != 0 || layout == H5D_VIRTUAL)
    return core::Error(core::ErrorCode::kDamaged, "its data lie in other files");
  return dataset;
}

core::Result<std::vector<hsize_t>> extents(hid_t dataset) {
  MSDBG_ASSIGN(const Handle space, owned(MSDBG_H5(H5Dget_space, dataset), H5Sclose));
  MSDBG_ASSIGN(const int rank, MSDBG_H5(H5Sget_simple_extent_ndims, space.id()));
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  MSDBG_ASSIGN(const int got, MSDBG_H5(H5Sget_simple_extent_dims, space.id(), dims.data(), nullptr));
  (void)got;
  return dims;
}

namespace {

core::Status checkWhole(hid_t dataset, hid_t type, std::uint64_t expected) {
  MSDBG_ASSIGN(const Handle list, owned(MSDBG_H5(H5Dget_create_plist, dataset), H5Pclose));
  MSDBG_ASSIGN(const H5D_layout_t layout, MSDBG_H5(H5Pget_layout, list.id()));
  if (layout != H5D_CONTIGUOUS) return core::Error(core::ErrorCode::kDamaged, "not stored in one piece");
  MSDBG_ASSIGN(const Handle stored, owned(MSDBG_H5(H5Dget_type, dataset), H5Tclose));
  MSDBG_ASSIGN(const htri_t same, MSDBG_H5(H5Tequal, stored.id(), type));
  if (same == 0) return core::Error(core::ErrorCode::kDamaged, "unexpected element type");
  MSDBG_ASSIGN(const auto dims, extents(dataset));
  hsize_t bytes = H5Tget_size(type);
  for (const hsize_t d : dims) {
    if (d != 0 && bytes > expected / d) return core::Error(core::ErrorCode::kDamaged, "unexpected extents");
    bytes *= d;
  }
  if (bytes != expected) return core::Error(core::ErrorCode::kDamaged, "unexpected extents");
  return core::Ok{};
}

}  // namespace

core::Status readAll(hid_t dataset, hid_t type, std::span<std::byte> into) {
  MSDBG_TRY(checkWhole(dataset, type, into.size()));
  MSDBG_TRY(MSDBG_H5(H5Dread, dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, into.data()));
  return core::Ok{};
}

core::Result<std::uint64_t> addressOf(hid_t dataset, hid_t type, std::uint64_t bytes) {
  MSDBG_TRY(checkWhole(dataset, type, bytes));
  const std::lock_guard lock(libraryMutex());  // an address is never negative: call() is not for it
  const haddr_t address = H5Dget_offset(dataset);
  if (address == HADDR_UNDEF) return core::Error(core::ErrorCode::kDamaged, "its data were never written");
  return address;
}

core::Result<std::vector<std::int64_t>> readIntegers(hid_t object, const std::string& name,
                                                     std::size_t limit) {
  MSDBG_ASSIGN(const Handle attribute, owned(MSDBG_H5(H5Aopen, object, name.c_str(), H5P_DEFAULT), H5Aclose));
  MSDBG_ASSIGN(const Handle type, owned(MSDBG_H5(H5Aget_type, attribute.id()), H5Tclose));
  MSDBG_ASSIGN(const htri_t same, MSDBG_H5(H5Tequal, type.id(), H5T_STD_I64LE));
  MSDBG_ASSIGN(const Handle space, owned(MSDBG_H5(H5Aget_space, attribute.id()), H5Sclose));
  MSDBG_ASSIGN(const int rank, MSDBG_H5(H5Sget_simple_extent_ndims, space.id()));
  MSDBG_ASSIGN(const hssize_t count, MSDBG_H5(H5Sget_simple_extent_npoints, space.id()));
  if (same == 0 || rank != 1 || static_cast<std::size_t>(count) > limit) {
    return core::Error(core::ErrorCode::kDamaged, "attribute " + name + " has an unexpected type or length");
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  MSDBG_TRY(MSDBG_H5(H5Aread, attribute.id(), H5T_NATIVE_INT64, values.data()));
  return values;
}

core::Status writeIntegers(hid_t object, const std::string& name, std::span<const std::int64_t> values) {
  const hsize_t count = values.size();
  MSDBG_ASSIGN(const Handle space, owned(MSDBG_H5(H5Screate_simple, 1, &count, nullptr), H5Sclose));
  MSDBG_ASSIGN(const Handle attribute, owned(MSDBG_H5(H5Acreate2, object, name.c_str(), H5T_STD_I64LE,
                                                      space.id(), H5P_DEFAULT, H5P_DEFAULT),
                                             H5Aclose));
  MSDBG_TRY(MSDBG_H5(H5Awrite, attribute.id(), H5T_NATIVE_INT64, values.data()));
  return core::Ok{};
}

core::Result<float> readFloat(hid_t object, const std::string& name) {
  MSDBG_ASSIGN(const Handle attribute, owned(MSDBG_H5(H5Aopen, object, name.c_str(), H5P_DEFAULT), H5Aclose));
  MSDBG_ASSIGN(const Handle type, owned(MSDBG_H5(H5Aget_type, attribute.id()), H5Tclose));
  MSDBG_ASSIGN(const htri_t same, MSDBG_H5(H5Tequal, type.id(), H5T_IEEE_F32LE));
  MSDBG_ASSIGN(const Handle space, owned(MSDBG_H5(H5Aget_space, attribute.id()), H5Sclose));
  MSDBG_ASSIGN(const hssize_t count, MSDBG_H5(H5Sget_simple_extent_npoints, space.id()));
  if (same == 0 || count != 1)
    return core::Error(core::ErrorCode::kDamaged, "attribute " + name + " is no float32 number");
  float value = 0;
  MSDBG_TRY(MSDBG_H5(H5Aread, attribute.id(), H5T_NATIVE_FLOAT, &value));
  return value;
}

core::Status writeFloat(hid_t object, const std::string& name, float value) {
  MSDBG_ASSIGN(const Handle space, owned(MSDBG_H5(H5Screate, H5S_SCALAR), H5Sclose));
  MSDBG_ASSIGN(const Handle attribute, owned(MSDBG_H5(H5Acreate2, object, name.c_str(), H5T_IEEE_F32LE,
                                                      space.id(), H5P_DEFAULT, H5P_DEFAULT),
                                             H5Aclose));
  MSDBG_TRY(MSDBG_H5(H5Awrite, attribute.id(), H5T_NATIVE_FLOAT, &value));
  return core::Ok{};
}

core::Status writeText(hid_t object, const std::string& name, const std::string& text) {
  MSDBG_ASSIGN(const Handle type, owned(MSDBG_H5(H5Tcopy, H5T_C_S1), H5Tclose));
  MSDBG_TRY(MSDBG_H5(H5Tset_size, type.id(), text.size() + 1));
  MSDBG_ASSIGN(const Handle space, owned(MSDBG_H5(H5Screate, H5S_SCALAR), H5Sclose));
  MSDBG_ASSIGN(const Handle attribute, owned(MSDBG_H5(H5Acreate2, object, name.c_str(), type.id(), space.id(),
                                                      H5P_DEFAULT, H5P_DEFAULT),
                                             H5Aclose));
  MSDBG_TRY(MSDBG_H5(H5Awrite, attribute.id(), type.id(), text.c_str()));
  return core::Ok{};
}

}  // namespace msdbg::dump::hdf5
