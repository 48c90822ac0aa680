#include <algorithm>
#include <cstring>

#include "dump/writer/kept_hashes_internal.h"

namespace msdbg::dump {
namespace {

core::Error unsupported(const std::string& what) { return {core::ErrorCode::kUnsupported, what}; }

std::vector<std::string> namesIn(const RawColumn& column) {
  std::vector<std::string> names;
  if (column.dims.empty() || column.dims[0] == 0) return names;
  const std::size_t width = column.bytes.size() / column.dims[0];
  const char* text = reinterpret_cast<const char*>(column.bytes.data());
  for (std::size_t i = 0; i < column.dims[0]; ++i, text += width)
    names.emplace_back(text, std::find(text, text + width, '\0'));
  return names;
}

}  // namespace

/// What is wanted of one of the two groups.
struct KeptHashes::Group {
  std::vector<std::string> names;
  std::vector<std::size_t> columns;   // of the names
  std::size_t width = 0;              // of all columns
  std::vector<core::Hash128> hashes;  // [rows, width]
};

core::Result<KeptHashes::Group> KeptHashes::read(const MergeSource& source, const std::string& group) const {
  Group found;
  if (!source.datasets.contains(group + "/tensor") || !source.datasets.contains(group + "/hash"))
    return found;
  const auto column = [&](const std::string& path) -> core::Result<RawColumn> {
    MSDBG_ASSIGN(const hdf5::Handle dataset, hdf5::openDataset(source.file.id(), path));
    return readRawColumn(source, path, dataset.id());
  };
  MSDBG_ASSIGN(const RawColumn names, column(group + "/tensor"));
  const std::vector<std::string> all = namesIn(names);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!m_wanted.contains(all[i])) continue;
    found.names.push_back(all[i]);
    found.columns.push_back(i);
  }
  if (found.names.empty()) return found;
  MSDBG_ASSIGN(const RawColumn hashes, column(group + "/hash"));
  found.width = all.size();
  if (hashes.bytes.size() != source.iterations.size() * found.width * sizeof(core::Hash128))
    return unsupported(group + "/hash: not a row for every iteration");
  found.hashes.resize(source.iterations.size() * found.width);
  std::memcpy(found.hashes.data(), hashes.bytes.data(), hashes.bytes.size());
  return found;
}

core::Status KeptHashes::add(const MergeSource& source, std::span<const std::size_t> rows) {
  MSDBG_ASSIGN(const Group statistics, read(source, "/statistics"));
  MSDBG_ASSIGN(const Group record, read(source, "/record"));
  std::vector<std::string> names = statistics.names;
  names.insert(names.end(), record.names.begin(), record.names.end());
  if (std::exchange(m_named, true) && names != m_names) return unsupported("its tensors changed");
  m_names = std::move(names);
  for (const std::size_t row : rows)
    for (const Group* group : {&statistics, &record})
      for (const std::size_t column : group->columns)
        m_hashes.push_back(group->hashes[row * group->width + column]);
  return core::Ok{};
}

core::Status KeptHashes::write(SegmentFile& file, std::span<const std::int64_t> iterations) const {
  if (m_names.empty()) return core::Ok{};
  MSDBG_TRY(file.writeNames("/record/tensor", m_names));
  return file.writeColumn("/record/hash", H5T_STD_U64LE, {iterations.size(), m_names.size(), 2},
                          std::as_bytes(std::span(m_hashes)), iterations);
}

}  // namespace msdbg::dump
