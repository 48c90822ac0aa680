#include "dump/writer/segment_merge.h"

#include <algorithm>

#include "core_engine/tensor/statistics.h"
#include "dump/codec/codec.h"
#include "dump/writer/kept_hashes_internal.h"
#include "dump/writer/merge_source_internal.h"
#include "dump/writer/merge_tensor_internal.h"
#include "dump/writer/segment_file_internal.h"

namespace msdbg::dump {
namespace {

using hdf5::Handle;

// Steps that no dataset of a source stands for.
const std::string kKeptHashes = "kept hashes", kThinned = "thinned";

core::Error unsupported(const std::string& what) { return {core::ErrorCode::kUnsupported, what}; }

void append(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Which of a dataset's rows are taken, and of which iterations they are.
struct TakenRows {
  std::vector<std::size_t> rows;
  std::vector<std::int64_t> iterations;
};

using Wanted = MergeSelection::Iterations;

TakenRows takenRows(const MergeSelection& selection, const std::vector<std::int64_t>& iterations,
                    const Wanted& wanted = {}) {
  TakenRows taken;
  for (std::size_t row = 0; row < iterations.size(); ++row) {
    if (selection.takes && !selection.takes(iterations[row])) continue;
    if (wanted && !wanted(iterations[row])) continue;
    taken.rows.push_back(row);
    taken.iterations.push_back(iterations[row]);
  }
  return taken;
}

// Of a column with one row for each of the iterations.
core::Status takeRows(RawColumn& column, const TakenRows& taken, std::size_t rows) {
  if (column.dims.empty() || column.dims[0] != rows) return unsupported("not a row for every iteration");
  if (taken.rows.size() == rows) return core::Ok{};
  const std::size_t rowBytes = column.bytes.size() / rows;
  std::vector<std::byte> bytes;
  bytes.reserve(taken.rows.size() * rowBytes);
  for (const std::size_t row : taken.rows) {
    const auto first = column.bytes.begin() + static_cast<std::ptrdiff_t>(row * rowBytes);
    bytes.insert(bytes.end(), first, first + static_cast<std::ptrdiff_t>(rowBytes));
  }
  column.bytes = std::move(bytes);
  column.dims[0] = taken.rows.size();
  return core::Ok{};
}

core::IterationSet takenOf(const MergeSelection& selection, const core::IterationSet& iterations,
                           const Wanted& wanted = {}) {
  if (!selection.takes && !wanted) return iterations;
  core::IterationSet taken;
  for (const std::int64_t iteration : iterations)
    if ((!selection.takes || selection.takes(iteration)) && (!wanted || wanted(iteration)))
      taken.push_back(iteration);
  return taken;
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
  MergeSelection selection;
  std::vector<std::string> todo;  // paths, next one last
  hdf5::FileImage image;
  std::optional<SegmentFile> file;
  MergeTensors tensors;
  SegmentLine line;
  std::uint64_t replayBytes = 0;

  core::Status addDataset(const std::string& path);
  core::Status addColumn(const std::string& path, const std::vector<DatasetPart>& parts);
  core::Status addTensor(const std::string& path, std::vector<DatasetPart>& parts);
  core::Status addFlags(const std::string& path, const core::IterationSet& those);
  core::Status addKeptHashes();
  core::Status addThinned();
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
    if (rows) {
      const std::vector<std::int64_t>& each = series ? part.iterations : part.source->iterations;
      const TakenRows taken = takenRows(selection, each);
      MSDBG_TRY(takeRows(column, taken, each.size()));
      if (series) append(iterations, taken.iterations);
    }
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
  if (rows && all.dims[0] == 0) return core::Ok{};  // a scalar of other iterations
  return file->writeColumn(path, all.type.id(), all.dims, all.bytes, iterations);
}

// Under /record, so that a reader which knows nothing of thinning finds hashes and no statistics.
core::Status SegmentMerge::Impl::addKeptHashes() {
  KeptHashes kept(selection.keptHashes);
  std::vector<std::int64_t> iterations;
  for (const MergeSource& source : sources) {
    const TakenRows taken = takenRows(selection, source.iterations);
    append(iterations, taken.iterations);
    MSDBG_TRY(kept.add(source, taken.rows));
  }
  return kept.write(*file, iterations);
}

core::Status SegmentMerge::Impl::addThinned() {
  const std::vector<std::int64_t> steps(line.iterations.size(), selection.thinned);
  return file->writeColumn("/iteration/thinned", H5T_STD_I64LE, {steps.size()},
                           std::as_bytes(std::span(steps)), {});
}

// Of all iterations those that have a checkpoint, or a batch, in this file.
core::Status SegmentMerge::Impl::addFlags(const std::string& path, const core::IterationSet& those) {
  std::vector<std::uint8_t> flags;
  for (const std::int64_t iteration : line.iterations) flags.push_back(those.contains(iteration));
  return file->writeColumn(path, H5T_STD_U8LE, {flags.size()}, std::as_bytes(std::span(flags)), {});
}

core::Status SegmentMerge::Impl::addTensor(const std::string& path, std::vector<DatasetPart>& parts) {
  const bool state = path.starts_with("/state/"), batch = path.starts_with("/batch/");
  if (!state && !batch && selection.takes) return unsupported("values are not cut");
  for (DatasetPart& part : parts) {
    TakenRows taken = takenRows(selection, part.iterations,
                                state   ? selection.checkpoints
                                : batch ? selection.batches
                                        : Wanted());
    part.rows = std::move(taken.rows);
    part.iterations = std::move(taken.iterations);
  }
  std::erase_if(parts, [](const DatasetPart& part) { return part.rows.empty(); });
  if (parts.empty()) return core::Ok{};
  MSDBG_ASSIGN(const MergedTensor merged, tensors.merge(path, parts));
  MSDBG_TRY(file->writeTensor(path, merged.dtype, merged.grid, merged.chunkList(), merged.iterations));
  const std::uint64_t bytes = merged.iterations.size() * merged.grid.rowBytes();
  if (state) line.stateBytes += bytes;
  if (batch) line.batchBytes += bytes;
  if (state || batch) {
    replayBytes += merged.storedBytes();
    return core::Ok{};
  }
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
  if (path == "/iteration/checkpoint") return addFlags(path, line.checkpoints);
  if (path == "/iteration/batch") return addFlags(path, line.batches);
  if (path == kKeptHashes) return addKeptHashes();
  if (path == kThinned) return addThinned();
  std::vector<DatasetPart> parts;
  for (const MergeSource& source : sources) {
    if (!source.datasets.contains(path)) continue;
    MSDBG_ASSIGN(DatasetPart part, DatasetPart::open(source, path));
    parts.push_back(std::move(part));
  }
  MSDBG_TRY(checkAttributes(parts));
  MSDBG_ASSIGN(const bool contiguous, isContiguous(parts[0].dataset.id()));
  MSDBG_TRY(contiguous ? addColumn(path, parts) : addTensor(path, parts));
  MSDBG_ASSIGN(const bool written, hdf5::exists(image.id(), path));
  return written ? copyAttributes(path, parts[0].attributes) : core::Status();
}

core::Result<std::unique_ptr<SegmentMerge>> SegmentMerge::begin(std::int64_t rank, std::int64_t number,
                                                                std::span<const std::filesystem::path> files,
                                                                MergeSelection selection) {
  auto impl = std::make_unique<Impl>();
  impl->selection = std::move(selection);
  impl->rank = rank;
  impl->line.segment = number;
  std::set<std::string> paths;
  for (const std::filesystem::path& file : files) {
    auto source = MergeSource::open(file, rank);
    if (!source.ok()) return source.error().in(file.string());
    if (source->sharesBytes && impl->selection.all())
      return unsupported("tensors share their bytes").in(file.string());
    const SegmentLine& old = source->line;
    const core::IterationSet taken = takenOf(impl->selection, old.iterations);
    if (!taken.empty() && !impl->line.iterations.empty() && taken.front() <= impl->line.iterations.back())
      return unsupported("its iterations lie between those of another segment").in(file.string());
    impl->line.graph = old.graph;
    impl->line.incomplete = old.incomplete && taken.contains(old.iterations.back());
    impl->line.thinned = impl->selection.thinned > 0 ? impl->selection.thinned : old.thinned;
    impl->line.iterations.append(taken);
    impl->line.checkpoints.append(takenOf(impl->selection, old.checkpoints, impl->selection.checkpoints));
    impl->line.batches.append(takenOf(impl->selection, old.batches, impl->selection.batches));
    paths.insert(source->datasets.begin(), source->datasets.end());
    impl->sources.push_back(std::move(*source));
  }
  if (!impl->selection.values)
    std::erase_if(paths, [](const std::string& path) { return path.starts_with("/tensor/"); });
  if (impl->selection.thinned > 0) {
    std::erase_if(paths, [](const std::string& path) {
      return path.starts_with("/statistics/") || path.starts_with("/record/");
    });
    paths.insert({kKeptHashes, kThinned});
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
std::uint64_t SegmentMerge::replayBytes() const { return m_impl->replayBytes; }

}  // namespace msdbg::dump
