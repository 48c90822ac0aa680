// MergeSource: a committed segment that is about to be merged with its neighbours: its line, its datasets and
// their attributes as bytes. Internal to merging; one thread.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dump/hdf5/hdf5_internal.h"
#include "dump/journal.h"
#include "dump/reader/tensor_dataset_internal.h"

namespace msdbg::dump {

struct MergeSource {
  std::filesystem::path path;
  SegmentLine line;
  std::vector<std::int64_t> iterations;  // the line's
  hdf5::Handle file;
  std::set<std::string> datasets;  // full paths; those below /checksum left out
  bool sharesBytes = false;        // a chunk is that of several rows: a copy takes more

  /// kUnsupported: it holds something other than groups and datasets.
  static core::Result<MergeSource> open(const std::filesystem::path& path, std::int64_t rank);
  SegmentFileInfo info() const { return {file.id(), line.bytes, iterations, -1}; }
};

/// An attribute of a dataset as it lies in the file.
struct RawAttribute {
  hdf5::Handle type, space;
  std::vector<std::byte> bytes;
};
using RawAttributes = std::map<std::string, RawAttribute>;
core::Result<RawAttributes> readAttributes(hid_t dataset);
core::Status writeAttribute(hid_t dataset, const std::string& name, const RawAttribute& attribute);

/// A contiguous dataset with its bytes, which were checked against their hash.
struct RawColumn {
  hdf5::Handle type;
  std::vector<hsize_t> dims;
  std::vector<std::byte> bytes;
};
core::Result<RawColumn> readRawColumn(const MergeSource& source, const std::string& path, hid_t dataset);

core::Result<bool> isContiguous(hid_t dataset);
core::Result<bool> sameType(hid_t a, hid_t b);
/// The element type of a dataset of tensors. kUnsupported: none of the format's.
core::Result<core::DType> elementType(hid_t dataset);

}  // namespace msdbg::dump
