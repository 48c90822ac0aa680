#include "dump/writer/segment_writer.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "dump/codec/dataset_path.h"
#include "dump/iteration_digest.h"
#include "dump/statistics_columns.h"
#include "dump/writer/data_region_internal.h"
#include "dump/writer/row_encoder.h"
#include "dump/writer/segment_file_internal.h"

namespace msdbg::dump {
namespace {

using Iterations = std::span<const IterationRecord* const>;

std::vector<std::int64_t> numbersOf(Iterations iterations) {
  std::vector<std::int64_t> numbers;
  for (const IterationRecord* record : iterations) numbers.push_back(record->iteration);
  return numbers;
}

template <typename T>
std::span<const std::byte> bytesOf(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

// Of all hashes that the iteration's segment holds. Both lists of the plan ascend.
core::Hash128 digestOf(const IterationRecord& record) {
  std::vector<core::TensorId> tensors;
  std::ranges::merge(record.plan->statistics, record.plan->hashes, std::back_inserter(tensors));
  IterationDigest digest;
  for (const core::TensorId id : tensors)
    if (const watch::StatisticsRow& row = record.statistics[id.index()];
        record.seen[id.index()] && !core::isFlags(row.values))
      digest.add(id.value, row.values.hash);
  return digest.finish();
}

core::Status writeIterations(SegmentFile& file, Iterations iterations) {
  std::vector<std::uint8_t> complete;
  std::vector<double> finishedAt;
  std::vector<core::Hash128> digests;
  for (const IterationRecord* record : iterations) {
    complete.push_back(record->complete);
    finishedAt.push_back(record->finishedAt);
    digests.push_back(digestOf(*record));
  }
  const hsize_t rows = iterations.size();
  const std::vector<std::int64_t> numbers = numbersOf(iterations);
  MSDBG_TRY(file.writeColumn("/iteration/number", H5T_STD_I64LE, {rows}, bytesOf(numbers), {}));
  MSDBG_TRY(file.writeColumn("/iteration/complete", H5T_STD_U8LE, {rows}, bytesOf(complete), {}));
  MSDBG_TRY(file.writeColumn("/iteration/digest", H5T_STD_U64LE, {rows, 2}, bytesOf(digests), {}));
  return file.writeColumn("/iteration/finished_at", H5T_IEEE_F64LE, {rows}, bytesOf(finishedAt), {});
}

// Which iterations have something.
core::Status writeFlags(SegmentFile& file, const std::string& path, std::span<const std::int64_t> iterations,
                        const std::vector<std::int64_t>& those) {
  std::vector<std::uint8_t> flags;
  for (const std::int64_t iteration : iterations)
    flags.push_back(std::ranges::binary_search(those, iteration));
  return file.writeColumn(path, H5T_STD_U8LE, {flags.size()}, bytesOf(flags), {});
}

struct Series {
  std::vector<std::int64_t> iterations;
  std::vector<double> values;
};

core::Status writeScalars(SegmentFile& file, Iterations iterations) {
  std::map<std::string, Series> all;
  for (const IterationRecord* record : iterations) {
    for (const auto& [name, value] : record->scalars) {
      Series& series = all[name];
      if (!series.iterations.empty() && series.iterations.back() == record->iteration)
        continue;  // named twice
      series.iterations.push_back(record->iteration);
      series.values.push_back(value);
    }
  }
  for (const auto& [name, series] : all) {
    MSDBG_TRY(file.writeColumn(scalarPath(name), H5T_IEEE_F64LE, {series.values.size()},
                               bytesOf(series.values), series.iterations));
  }
  return core::Ok{};
}

core::Status writeTensorNames(SegmentFile& file, const std::string& path, const GraphPlan& plan,
                              std::span<const core::TensorId> tensors) {
  std::vector<std::string> names;
  for (const core::TensorId id : tensors) names.push_back(plan.graph.tensor(id).fullName());
  return file.writeNames(path, names);
}

// What the column has to tell about a tensor in an iteration; nullptr: nothing.
const watch::StatisticsRow* rowFor(const StatisticsColumn& column, const IterationRecord& record,
                                   core::TensorId id) {
  const watch::StatisticsRow& row = record.statistics[id.index()];
  return record.seen[id.index()] && (column.hash || seen(row)) ? &row : nullptr;
}

core::Status writeStatistics(SegmentFile& file, Iterations iterations,
                             std::span<const std::int64_t> numbers) {
  const GraphPlan& plan = *iterations[0]->plan;
  const std::size_t tensors = plan.statistics.size();
  if (tensors == 0) return core::Ok{};
  MSDBG_TRY(writeTensorNames(file, "/statistics/tensor", plan, plan.statistics));
  std::vector<std::byte> cells;
  for (const StatisticsColumn& column : statisticsColumns()) {
    cells.resize(iterations.size() * tensors * column.bytes());
    std::byte* cell = cells.data();
    for (const IterationRecord* record : iterations) {
      for (const core::TensorId id : plan.statistics) {
        column.write(rowFor(column, *record, id), cell);
        cell += column.bytes();
      }
    }
    std::vector<hsize_t> dims = {iterations.size(), tensors};
    if (column.width > 1) dims.push_back(column.width);
    const hid_t type = column.hash ? H5T_STD_U64LE : hdf5::fileType(column.dtype);
    MSDBG_TRY(file.writeColumn("/statistics/" + std::string(column.name), type, dims, cells, numbers));
  }
  return core::Ok{};
}

// The tensors of which never more than the hash is kept.
core::Status writeHashes(SegmentFile& file, Iterations iterations, std::span<const std::int64_t> numbers) {
  const GraphPlan& plan = *iterations[0]->plan;
  if (plan.hashes.empty()) return core::Ok{};
  MSDBG_TRY(writeTensorNames(file, "/record/tensor", plan, plan.hashes));
  std::vector<core::Hash128> hashes;
  for (const IterationRecord* record : iterations)
    for (const core::TensorId id : plan.hashes)
      hashes.push_back(record->seen[id.index()] ? record->statistics[id.index()].values.hash
                                                : core::Hash128());
  return file.writeColumn("/record/hash", H5T_STD_U64LE, {iterations.size(), plan.hashes.size(), 2},
                          bytesOf(hashes), numbers);
}

const char* sectionPath(Section section) {
  if (section == Section::kTensor) return "/tensor";
  return section == Section::kState ? "/state" : "/batch";
}

// Whether a checkpoint or a batch is whole: an iteration can be interrupted while its sources are copied.
bool hasAll(const IterationRecord& record, Section section) {
  const std::size_t wanted =
      section == Section::kState ? record.plan->stateTensors : record.plan->batchTensors;
  const auto first = record.rows.lower_bound({section, 0});
  const auto last = record.rows.lower_bound({static_cast<Section>(static_cast<int>(section) + 1), 0});
  return wanted > 0 && static_cast<std::size_t>(std::distance(first, last)) == wanted;
}

std::uint64_t& rawBytesOf(SegmentWriter::Image& image, Section section) {
  if (section == Section::kTensor) return image.rawBytes;
  return section == Section::kState ? image.stateBytes : image.batchBytes;
}

}  // namespace

struct SegmentWriter::Impl {
  int rank;
  StageClock* clock = nullptr;
  hdf5::FileImage image;
  std::optional<RowEncoder> encoder;  // none where segments are only copied: one a thread
  std::vector<std::byte> gathered;
  DataRegion region;

  struct TensorSeries {
    std::vector<std::int64_t> iterations;
    std::vector<const TensorRow*> rows;
  };
  core::Result<std::uint64_t> writeSeries(SegmentFile& file, RowKey key, const std::string& path,
                                          const TensorSeries& series);
  std::vector<StoredChunk> sharedChunks(RowKey key, const ChunkGrid& grid, const TensorSeries& series);
  core::Status writeTensors(SegmentFile& file, Iterations iterations, Image& image);
  core::Status finish(Image& result);
};

// Small rows: gathered chunk by chunk.
std::vector<StoredChunk> SegmentWriter::Impl::sharedChunks(RowKey key, const ChunkGrid& grid,
                                                           const TensorSeries& series) {
  std::vector<StoredChunk> chunks;
  for (std::size_t first = 0; first < series.rows.size(); first += grid.rowsPerChunk()) {
    gathered.clear();
    const std::size_t last = std::min<std::size_t>(first + grid.rowsPerChunk(), series.rows.size());
    for (std::size_t r = first; r < last; ++r) {
      const auto bytes = series.rows[r]->raw.bytes();
      gathered.insert(gathered.end(), bytes.begin(), bytes.end());
    }
    chunks.push_back(encoder->shared(key, gathered, grid.chunkBytes()));
  }
  return chunks;
}

core::Result<std::uint64_t> SegmentWriter::Impl::writeSeries(SegmentFile& file, RowKey key,
                                                             const std::string& path,
                                                             const TensorSeries& series) {
  const TensorRow& first = *series.rows[0];
  std::vector<std::uint64_t> extents = {series.rows.size()};
  extents.insert(extents.end(), first.shape.begin(), first.shape.end());
  const ChunkGrid grid = ChunkGrid::plan(extents, core::dtypeSize(first.dtype), first.largestChunk,
                                         SegmentWriter::sharedChunk(sectionPath(key.section)));
  std::vector<StoredChunk> shared;
  std::vector<const StoredChunk*> chunks;
  if (ownChunks(first.rawBytes)) {
    for (const TensorRow* row : series.rows) {
      for (const StoredChunk& c : row->chunks) chunks.push_back(&c);
    }
  } else {
    shared = sharedChunks(key, grid, series);
    for (const StoredChunk& c : shared) chunks.push_back(&c);
  }
  MSDBG_TRY(file.writeTensor(path, first.dtype, grid, chunks, series.iterations, &region));
  if (first.divisor) MSDBG_TRY(file.writeDivisor(path, *first.divisor));
  std::uint64_t stored = 0;
  for (const StoredChunk& c : shared) stored += c.size;
  return stored;
}

core::Status SegmentWriter::Impl::writeTensors(SegmentFile& file, Iterations iterations, Image& result) {
  std::map<RowKey, TensorSeries> all;
  for (const IterationRecord* record : iterations) {
    const bool state = hasAll(*record, Section::kState), batch = hasAll(*record, Section::kBatch);
    if (state) result.checkpoints.push_back(record->iteration);
    if (batch) result.batches.push_back(record->iteration);
    for (const auto& [key, row] : record->rows) {
      if ((key.section == Section::kState && !state) || (key.section == Section::kBatch && !batch)) continue;
      all[key].iterations.push_back(record->iteration);
      all[key].rows.push_back(&row);
      rawBytesOf(result, key.section) += row.rawBytes;
    }
  }
  for (const auto& [key, series] : all) {
    const std::string name = iterations[0]->plan->graph.tensor(core::TensorId(key.tensor)).fullName();
    MSDBG_ASSIGN(const std::uint64_t stored,
                 writeSeries(file, key, datasetPath(sectionPath(key.section), name), series));
    (key.section == Section::kTensor ? result.storedBytes : result.replayBytes) += stored;
    result.tensors += key.section == Section::kTensor;
  }
  return core::Ok{};
}

SegmentWriter::SegmentWriter(int rank) : m_impl(std::make_unique<Impl>()) { m_impl->rank = rank; }
SegmentWriter::~SegmentWriter() = default;

// What HDF5 made, around the region of chunks.
core::Status SegmentWriter::Impl::finish(Image& result) {
  MSDBG_ASSIGN(const hdf5::FileImage::Content content, image.close());
  result.size = content.size;
  result.clock = clock;
  result.pieces.push_back({0, content.head});
  if (!content.tail.empty()) result.pieces.push_back({content.tailAt, content.tail});
  return core::Ok{};
}

void SegmentWriter::configure(bool compress, StageClock* clock) {
  m_impl->clock = clock;
  m_impl->encoder.emplace(compress, clock);
}

bool SegmentWriter::ownChunks(std::uint64_t rowBytes) { return kSharedChunk / rowBytes <= 1; }
std::uint64_t SegmentWriter::sharedChunk(std::string_view path) {
  return path.starts_with("/state") ? 0 : kSharedChunk;
}

void SegmentWriter::encode(RowKey key, TensorRow& row) {
  m_impl->encoder->encode(key, row, row.raw.bytes(), 1);
  const bool copyNeeded =
      std::ranges::any_of(row.chunks, [](const auto& chunk) { return chunk.own.empty(); });
  if (!copyNeeded) row.raw.reset();
}

core::Result<SegmentWriter::Image> SegmentWriter::build(std::int64_t segment, Iterations iterations,
                                                        bool values) {
  Image result;
  const std::vector<std::int64_t> numbers = numbersOf(iterations);
  const GraphPlan& plan = *iterations[0]->plan;
  m_impl->region = DataRegion();
  if (values) MSDBG_TRY(m_impl->region.lay(iterations, result));
  const StageTimer timer(m_impl->clock, Stage::kBuild, 0);
  MSDBG_ASSIGN(SegmentFile file, SegmentFile::begin(m_impl->image, m_impl->region.end()));
  MSDBG_TRY(file.writeRoot(segment, m_impl->rank, plan.version));
  MSDBG_TRY(writeIterations(file, iterations));
  MSDBG_TRY(writeScalars(file, iterations));
  MSDBG_TRY(writeStatistics(file, iterations, numbers));
  MSDBG_TRY(writeHashes(file, iterations, numbers));
  if (values) MSDBG_TRY(m_impl->writeTensors(file, iterations, result));
  if (plan.checkpoints) MSDBG_TRY(writeFlags(file, "/iteration/checkpoint", numbers, result.checkpoints));
  if (plan.batches) MSDBG_TRY(writeFlags(file, "/iteration/batch", numbers, result.batches));
  MSDBG_TRY(m_impl->finish(result));
  return result;
}

}  // namespace msdbg::dump
