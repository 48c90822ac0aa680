#include "dump/writer/segment_merge.h"

#include <algorithm>

#include "core_engine/tensor/statistics.h"
#include "dump/codec/codec.h"
#include "dump/writer/merge_source_internal.h"
#include "dump/writer/merge_tensor_internal.h"
#include "dump/writer/segment_file_internal.h"

namespace msdbg::dump {
namespace {

using hdf5::Handle;

core::Error unsupported(const std::string& what) { return {core::ErrorCode::kUnsupported, what}; }

void append(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

bool sameBytes(const RawAttribute& a, const RawAttribute& b) { return a.bytes == b.bytes; }

// What a dataset says of itself besides its iterations must be the same in all parts.
core::Status checkAttributes(const std::vector<DatasetPart>& parts) {
  for (const DatasetPart& part : parts) {
    const RawAttributes& first = parts[0].attributes;
    const bool same = std::ranges::equal(first, part.attributes, [](const auto& a, const auto& b) {
      return a.first == b.first && (a.first == "iterations" || sameBytes(a.second, b.second));
    });
    if (!same) return unsupported("its attributes changed");
  }
  return core::Ok{};
}

}  // namespace

struct SegmentMerge::Impl {
  std::int64_t rank = 0;
  std::vector<MergeSource> sources;
  std::vector<std::string> todo;  // paths, next one last
  hdf5::FileImage image;
  std::optional<SegmentFile> file;
  MergeTensors tensors;
  SegmentLine line;

  core::Status addDataset(const std::string& path);
  core::Status addColumn(const std::string& path, const std::vector<DatasetPart>& parts);
  core::Status addTensor(const std::string& path, const std::vector<DatasetPart>& parts);
  core::Status copyAttributes(const std::string& path, const RawAttributes& attributes);
};

// Columns of statistics and /iteration have a row for every iteration; so they must be in all sources.
core::Status SegmentMerge::Impl::addColumn(const std::string& path, const std::vector<DatasetPart>& parts) {
  const bool series = parts[0].attributes.contains("iterations");
  const bool rows = series || path.starts_with("/iteration/");
  if (!path.starts_with("/scalars/") && parts.size() != sources.size())
    return unsupported("not in all segments");
  RawColumn all;
  std::vector<std::int64_t> iterations;
  for (const DatasetPart& part : parts) {
    MSDBG_ASSIGN(RawColumn column, readRawColumn(*part.source, path, part.dataset.id()));
    append(iterations, part.iterations);
    if (&part == &parts[0]) {
      all = std::move(column);
      continue;
    }
    MSDBG_ASSIGN(const bool same, sameType(all.type.id(), column.type.id()));
    if (!same || column.dims.empty() || column.dims.size() != all.dims.size() ||
        !std::equal(all.dims.begin() + 1, all.dims.end(), column.dims.begin() + 1))
      return unsupported("its type or shape changed");
    if (!rows) {
      if (column.bytes != all.bytes) return unsupported("its content changed");
      continue;
    }
    all.dims[0] += column.dims[0];
    all.bytes.insert(all.bytes.end(), column.bytes.begin(), column.bytes.end());
  }
  return file->writeColumn(path, all.type.id(), all.dims, all.bytes, iterations);
}

core::Status SegmentMerge::Impl::addTensor(const std::string& path, const std::vector<DatasetPart>& parts) {
  MSDBG_ASSIGN(const MergedTensor merged, tensors.merge(path, parts));
  MSDBG_TRY(file->writeTensor(path, merged.dtype, merged.grid, merged.chunkList(), merged.iterations));
  const std::uint64_t bytes = merged.iterations.size() * merged.grid.rowBytes();
  if (path.starts_with("/state/")) line.stateBytes += bytes;
  if (path.starts_with("/batch/")) line.batchBytes += bytes;
  if (!path.starts_with("/tensor/")) return core::Ok{};
  line.rawBytes += bytes;
  line.storedBytes += merged.storedBytes();
  ++line.tensors;
  return core::Ok{};
}

core::Status SegmentMerge::Impl::copyAttributes(const std::string& path, const RawAttributes& attributes) {
  MSDBG_ASSIGN(const Handle dataset, hdf5::openDataset(image.id(), path));
  MSDBG_ASSIGN(const RawAttributes there, readAttributes(dataset.id()));
  for (const auto& [name, attribute] : attributes)
    if (!there.contains(name)) MSDBG_TRY(writeAttribute(dataset.id(), name, attribute));
  return core::Ok{};
}

core::Status SegmentMerge::Impl::addDataset(const std::string& path) {
  std::vector<DatasetPart> parts;
  for (const MergeSource& source : sources) {
    if (!source.datasets.contains(path)) continue;
    MSDBG_ASSIGN(DatasetPart part, DatasetPart::open(source, path));
    parts.push_back(std::move(part));
  }
  MSDBG_TRY(checkAttributes(parts));
  MSDBG_ASSIGN(const bool contiguous, isContiguous(parts[0].dataset.id()));
  MSDBG_TRY(contiguous ? addColumn(path, parts) : addTensor(path, parts));
  return copyAttributes(path, parts[0].attributes);
}

core::Result<std::unique_ptr<SegmentMerge>> SegmentMerge::begin(
    std::int64_t rank, std::int64_t number, std::span<const std::filesystem::path> files) {
  auto impl = std::make_unique<Impl>();
  impl->rank = rank;
  impl->line.segment = number;
  std::set<std::string> paths;
  for (const std::filesystem::path& file : files) {
    auto source = MergeSource::open(file, rank);
    if (!source.ok()) return source.error().in(file.string());
    const SegmentLine& old = source->line;
    impl->line.graph = old.graph;
    impl->line.incomplete = old.incomplete;
    impl->line.iterations.append(old.iterations);
    impl->line.checkpoints.append(old.checkpoints);
    impl->line.batches.append(old.batches);
    paths.insert(source->datasets.begin(), source->datasets.end());
    impl->sources.push_back(std::move(*source));
  }
  impl->todo.assign(paths.rbegin(), paths.rend());
  MSDBG_ASSIGN(impl->file, SegmentFile::begin(impl->image, 0));
  MSDBG_TRY(impl->file->writeRoot(number, rank, impl->line.graph));
  return std::unique_ptr<SegmentMerge>(new SegmentMerge(std::move(impl)));
}

SegmentMerge::SegmentMerge(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
SegmentMerge::~SegmentMerge() = default;

core::Result<bool> SegmentMerge::step() {
  if (m_impl->todo.empty()) return true;
  const std::string path = std::move(m_impl->todo.back());
  m_impl->todo.pop_back();
  const core::Status added = m_impl->addDataset(path);
  if (!added.ok()) return added.error().in(path);
  return m_impl->todo.empty();
}

core::Result<std::span<const std::byte>> SegmentMerge::finish() {
  m_impl->file.reset();
  m_impl->sources.clear();
  MSDBG_ASSIGN(const hdf5::FileImage::Content content, m_impl->image.close());
  const std::span<const std::byte> bytes = content.head;  // nothing is placed outside
  m_impl->line.bytes = bytes.size();
  m_impl->line.hash = core::hashBytes(bytes).text();
  return bytes;
}

const SegmentLine& SegmentMerge::line() const { return m_impl->line; }

}  // namespace msdbg::dump
