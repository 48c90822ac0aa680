#include <algorithm>
#include <cstring>

#include "core_engine/tensor/statistics.h"
#include "dump/reader/segment_reader.h"
#include "dump/writer/merge_source_internal.h"

namespace msdbg::dump {
namespace {

using hdf5::Handle;
using hdf5::owned;

constexpr std::string_view kChecksums = "checksum";

core::Error unsupported(const std::string& what) { return {core::ErrorCode::kUnsupported, what}; }
core::Error damaged(const std::string& what) { return {core::ErrorCode::kDamaged, what}; }

struct Listing {
  std::set<std::string>& datasets;
  std::string strange;  // what is neither a group nor a dataset, or says more than this version writes
};

herr_t addObject(hid_t, const char* name, const H5O_info_t* info, void* into) {
  auto& listing = *static_cast<Listing*>(into);
  const std::string_view path = name;
  if (path == ".") return 0;  // the root
  if (info->type == H5O_TYPE_GROUP) {
    if (info->num_attrs > 0) listing.strange = path;
  } else if (info->type != H5O_TYPE_DATASET) {
    listing.strange = path;
  } else if (!path.starts_with(kChecksums)) {
    listing.datasets.insert("/" + std::string(path));
  }
  return 0;
}

herr_t addName(hid_t, const char* name, const H5A_info_t*, void* into) {
  static_cast<std::vector<std::string>*>(into)->emplace_back(name);
  return 0;
}

// A call whose answer cannot be negative, so that hdf5::call() is not for it.
std::uint64_t storageOf(hid_t dataset) {
  const std::lock_guard lock(hdf5::libraryMutex());
  return H5Dget_storage_size(dataset);
}

std::uint64_t bytesOf(hid_t type, std::span<const hsize_t> dims) {
  std::uint64_t bytes = hdf5::typeSize(type);
  for (const hsize_t d : dims) bytes *= d;
  return bytes;
}

core::Result<RawAttribute> readAttribute(hid_t dataset, const std::string& name) {
  RawAttribute raw;
  MSDBG_ASSIGN(const Handle attribute,
               owned(MSDBG_H5(H5Aopen, dataset, name.c_str(), H5P_DEFAULT), H5Aclose));
  MSDBG_ASSIGN(raw.type, owned(MSDBG_H5(H5Aget_type, attribute.id()), H5Tclose));
  MSDBG_ASSIGN(raw.space, owned(MSDBG_H5(H5Aget_space, attribute.id()), H5Sclose));
  MSDBG_ASSIGN(const hssize_t count, MSDBG_H5(H5Sget_simple_extent_npoints, raw.space.id()));
  raw.bytes.resize(static_cast<std::size_t>(count) * hdf5::typeSize(raw.type.id()));
  MSDBG_TRY(MSDBG_H5(H5Aread, attribute.id(), raw.type.id(), raw.bytes.data()));
  return raw;
}

// As if no chunk was another one's too: what a merged file would take.
core::Result<std::uint64_t> storedBytes(const MergeSource& source) {
  std::uint64_t bytes = 0;
  for (const std::string& path : source.datasets) {
    MSDBG_ASSIGN(const Handle dataset, hdf5::openDataset(source.file.id(), path));
    bytes += storageOf(dataset.id());
  }
  return bytes;
}

}  // namespace

core::Result<MergeSource> MergeSource::open(const std::filesystem::path& path, std::int64_t rank) {
  MergeSource source;
  source.path = path;
  MSDBG_ASSIGN(const std::unique_ptr<SegmentReader> reader, SegmentReader::open(path, 0));
  MSDBG_ASSIGN(source.line, reader->describe(rank));
  source.iterations = reader->iterations();
  MSDBG_ASSIGN(source.file, hdf5::openFile(path.string()));
  Listing listing{source.datasets, ""};
  MSDBG_TRY(MSDBG_H5(H5Ovisit2, source.file.id(), H5_INDEX_NAME, H5_ITER_INC, addObject, &listing,
                     unsigned{H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS}));
  MSDBG_ASSIGN(const std::uint64_t stored, storedBytes(source));
  source.sharesBytes = stored > source.line.bytes;
  if (!listing.strange.empty()) return unsupported("/" + listing.strange + " is not known to this version");
  return source;
}

core::Result<RawAttributes> readAttributes(hid_t dataset) {
  std::vector<std::string> names;
  hsize_t at = 0;
  MSDBG_TRY(MSDBG_H5(H5Aiterate2, dataset, H5_INDEX_NAME, H5_ITER_INC, &at, addName, &names));
  RawAttributes attributes;
  for (const std::string& name : names) {
    MSDBG_ASSIGN(attributes[name], readAttribute(dataset, name));
  }
  return attributes;
}

core::Status writeAttribute(hid_t dataset, const std::string& name, const RawAttribute& attribute) {
  MSDBG_ASSIGN(const Handle made, owned(MSDBG_H5(H5Acreate2, dataset, name.c_str(), attribute.type.id(),
                                                 attribute.space.id(), H5P_DEFAULT, H5P_DEFAULT),
                                        H5Aclose));
  MSDBG_TRY(MSDBG_H5(H5Awrite, made.id(), attribute.type.id(), attribute.bytes.data()));
  return core::Ok{};
}

core::Result<RawColumn> readRawColumn(const MergeSource& source, const std::string& path, hid_t dataset) {
  RawColumn column;
  MSDBG_ASSIGN(column.type, owned(MSDBG_H5(H5Dget_type, dataset), H5Tclose));
  MSDBG_ASSIGN(column.dims, hdf5::extents(dataset));
  column.bytes.resize(bytesOf(column.type.id(), column.dims));
  MSDBG_TRY(hdf5::readAll(dataset, column.type.id(), column.bytes));
  core::Hash128 hash;
  MSDBG_ASSIGN(const Handle hashes, hdf5::openDataset(source.file.id(), "/checksum" + path));
  MSDBG_TRY(hdf5::readAll(hashes.id(), H5T_STD_U64LE, std::as_writable_bytes(std::span(&hash, 1))));
  if (core::hashBytes(column.bytes) != hash) return damaged(path + ": does not match its hash");
  return column;
}

core::Result<bool> isContiguous(hid_t dataset) {
  MSDBG_ASSIGN(const Handle list, owned(MSDBG_H5(H5Dget_create_plist, dataset), H5Pclose));
  MSDBG_ASSIGN(const H5D_layout_t layout, MSDBG_H5(H5Pget_layout, list.id()));
  return layout == H5D_CONTIGUOUS;
}

core::Result<bool> sameType(hid_t a, hid_t b) {
  MSDBG_ASSIGN(const htri_t same, MSDBG_H5(H5Tequal, a, b));
  return same > 0;
}

core::Result<core::DType> elementType(hid_t dataset) {
  MSDBG_ASSIGN(const std::optional<core::DType> dtype, hdf5::storedDType(dataset));
  if (dtype) return *dtype;
  return unsupported("an element type that this version does not know");
}

}  // namespace msdbg::dump
