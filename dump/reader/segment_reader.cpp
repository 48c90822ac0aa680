#include "dump/reader/segment_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "core_engine/tensor/statistics.h"
#include "dump/codec/dataset_path.h"
#include "dump/descriptor.h"
#include "dump/reader/tensor_dataset_internal.h"

namespace msdbg::dump {
namespace {

using hdf5::Handle;
using hdf5::owned;

constexpr std::size_t kMostIterations = 1u << 20;
constexpr std::size_t kMostScalars = 4096;

core::Error damaged(const std::string& what) { return {core::ErrorCode::kDamaged, what}; }

template <typename T>
core::Result<std::vector<T>> readValues(const SegmentFileInfo& segment, const std::string& path, hid_t type,
                                        hsize_t count) {
  const auto bytes = readColumn(segment, path, type, {&count, 1});
  if (!bytes.ok()) return bytes.error().in(path);
  std::vector<T> values(count);
  std::memcpy(values.data(), bytes->data(), count * sizeof(T));
  return values;
}

struct Series {
  std::vector<std::int64_t> iterations;
  std::vector<double> values;
};

core::Result<Series> readSeries(const SegmentFileInfo& segment, const std::string& path) {
  Series series;
  MSDBG_ASSIGN(const Handle dataset, hdf5::openDataset(segment.file, path));
  MSDBG_ASSIGN(series.iterations, hdf5::readIntegers(dataset.id(), "iterations", segment.iterations.size()));
  if (!std::ranges::is_sorted(series.iterations)) return damaged(path + ": its iterations do not ascend");
  MSDBG_ASSIGN(series.values, readValues<double>(segment, path, H5T_IEEE_F64LE, series.iterations.size()));
  return series;
}

core::Status checkVersion(hid_t file) {
  MSDBG_ASSIGN(const std::vector<std::int64_t> version, hdf5::readIntegers(file, "version", 2));
  if (version.size() != 2) return damaged("no format version");
  if (version[0] <= kFormatMajor) return core::Ok{};
  return core::Error(core::ErrorCode::kUnsupported,
                     "format " + std::to_string(version[0]) + " is newer than what this msdbg reads");
}

core::Result<std::int64_t> readNumber(hid_t file, const std::string& name) {
  MSDBG_ASSIGN(const std::vector<std::int64_t> values, hdf5::readIntegers(file, name, 1));
  if (values.size() != 1 || values[0] < 0) return damaged("attribute " + name + " is not a number");
  return values[0];
}

}  // namespace

struct SegmentReader::Impl {
  std::filesystem::path filePath;
  Descriptor lock;  // as long as it is held, no recorder uses the file again
  Handle file;
  std::uint64_t fileBytes = 0;
  std::vector<std::int64_t> iterations;
  std::map<std::string, TensorDataset> tensors;  // opened ones, by path
  std::map<std::string, Series> scalars;
  std::set<std::string> noScalars;     // names that were asked for and are not there
  std::map<std::string, bool> groups;  // of values, by path: whether there is one

  SegmentFileInfo info() const { return {file.id(), fileBytes, iterations, lock.get()}; }
  core::Status readIterations();
  core::Result<const Series*> series(const std::string& name);
  core::Result<std::vector<std::int64_t>> flagged(const std::string& flags, const std::string& group) const;
  /// Below a group; nullptr: there is none.
  core::Result<TensorDataset*> dataset(const std::string& group, const core::TensorInfo& tensor);
  core::Result<core::Tensor> value(const std::string& group, const core::TensorInfo& tensor,
                                   std::int64_t iteration);
};

core::Status SegmentReader::Impl::readIterations() {
  MSDBG_ASSIGN(const hsize_t count, lengthOf(file.id(), "/iteration/number"));
  if (count > kMostIterations) return damaged("/iteration/number: too many iterations");
  MSDBG_ASSIGN(iterations, readValues<std::int64_t>(info(), "/iteration/number", H5T_STD_I64LE, count));
  const bool ascending =
      std::adjacent_find(iterations.begin(), iterations.end(), std::greater_equal<>()) == iterations.end();
  if (!ascending || iterations.empty() || iterations[0] < 0)
    return damaged("/iteration/number: not ascending");
  return core::Ok{};
}

core::Result<std::unique_ptr<SegmentReader>> SegmentReader::open(const std::filesystem::path& file,
                                                                 std::uint64_t bytes) {
  std::error_code error;
  auto impl = std::make_unique<Impl>();
  impl->filePath = file;
  if (!std::filesystem::exists(file, error))
    return core::Error(core::ErrorCode::kMissing, "the file is missing");
  if (!std::filesystem::is_regular_file(file, error)) return damaged("it is not a file");
  impl->fileBytes = std::filesystem::file_size(file, error);
  if (bytes != 0 && impl->fileBytes != bytes) {
    return damaged("the file has " + std::to_string(impl->fileBytes) + " bytes, the journal says " +
                   std::to_string(bytes));
  }
  impl->lock = openToRead(file);
  if (!impl->lock.valid() && errno == ENOENT)
    return core::Error(core::ErrorCode::kMissing, "the file is missing");
  auto opened = hdf5::openFile(file.string());
  // The recorder may have put another file in its place since.
  if (!opened.ok() && !std::filesystem::exists(file, error))
    return core::Error(core::ErrorCode::kMissing, "the file is missing");
  MSDBG_ASSIGN(impl->file, std::move(opened));
  MSDBG_TRY(checkVersion(impl->file.id()));
  MSDBG_TRY(impl->readIterations());
  return std::unique_ptr<SegmentReader>(new SegmentReader(std::move(impl)));
}

SegmentReader::SegmentReader(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
SegmentReader::~SegmentReader() = default;

const std::vector<std::int64_t>& SegmentReader::iterations() const { return m_impl->iterations; }

// The iterations that have a checkpoint or a batch: they are flagged, and the group was not dropped.
core::Result<std::vector<std::int64_t>> SegmentReader::Impl::flagged(const std::string& flags,
                                                                     const std::string& group) const {
  std::vector<std::int64_t> held;
  MSDBG_ASSIGN(const bool some, hdf5::exists(file.id(), group));
  MSDBG_ASSIGN(const bool told, hdf5::exists(file.id(), flags));
  if (!some || !told) return held;
  MSDBG_ASSIGN(const auto set, readValues<std::uint8_t>(info(), flags, H5T_STD_U8LE, iterations.size()));
  for (std::size_t i = 0; i < set.size(); ++i)
    if (set[i] != 0) held.push_back(iterations[i]);
  return held;
}

core::Result<SegmentLine> SegmentReader::describe(std::int64_t rank) {
  SegmentLine line;
  const hid_t file = m_impl->file.id();
  MSDBG_ASSIGN(const std::int64_t storedRank, readNumber(file, "rank"));
  if (storedRank != rank) return damaged("a segment of rank " + std::to_string(storedRank));
  MSDBG_ASSIGN(line.segment, readNumber(file, "segment"));
  MSDBG_ASSIGN(line.graph, readNumber(file, "graph"));
  const std::size_t count = m_impl->iterations.size();
  MSDBG_ASSIGN(const auto complete,
               readValues<std::uint8_t>(m_impl->info(), "/iteration/complete", H5T_STD_U8LE, count));
  MSDBG_ASSIGN(const bool tensors, hdf5::exists(file, "/tensor"));
  line.file = m_impl->filePath.filename().string();
  line.iterations = m_impl->iterations;
  line.incomplete = complete.back() == 0;
  line.bytes = m_impl->fileBytes;
  line.tensors = tensors ? 1 : 0;  // at least
  MSDBG_ASSIGN(const bool thinned, hdf5::exists(file, "/iteration/thinned"));
  if (thinned) {
    MSDBG_ASSIGN(const auto steps,
                 readValues<std::int64_t>(m_impl->info(), "/iteration/thinned", H5T_STD_I64LE, count));
    line.thinned = steps.back();
  }
  MSDBG_ASSIGN(line.checkpoints, m_impl->flagged("/iteration/checkpoint", "/state"));
  MSDBG_ASSIGN(line.batches, m_impl->flagged("/iteration/batch", "/batch"));
  return line;
}

core::Result<StatisticsTable> SegmentReader::statistics() { return StatisticsTable::open(m_impl->info()); }

core::Result<std::vector<core::Hash128>> SegmentReader::digests() {
  const hid_t file = m_impl->file.id();
  MSDBG_ASSIGN(const bool there, hdf5::exists(file, "/iteration/digest"));
  if (!there) return std::vector<core::Hash128>();
  const hsize_t dims[] = {m_impl->iterations.size(), 2};
  const auto bytes = readColumn(m_impl->info(), "/iteration/digest", H5T_STD_U64LE, dims);
  if (!bytes.ok()) return bytes.error().in("/iteration/digest");
  std::vector<core::Hash128> digests(m_impl->iterations.size());
  std::memcpy(digests.data(), bytes->data(), bytes->size());
  return digests;
}

core::Result<std::vector<std::string>> SegmentReader::scalarNames() {
  MSDBG_ASSIGN(const bool there, hdf5::exists(m_impl->file.id(), "/scalars"));
  if (!there) return std::vector<std::string>();
  MSDBG_ASSIGN(const Handle group,
               owned(MSDBG_H5(H5Gopen2, m_impl->file.id(), "/scalars", H5P_DEFAULT), H5Gclose));
  MSDBG_ASSIGN(std::vector<std::string> names, hdf5::datasetsBelow(group.id(), kMostScalars));
  for (std::string& name : names) name = scalarName(name);
  return names;
}

// nullptr: there is none of this name.
core::Result<const Series*> SegmentReader::Impl::series(const std::string& name) {
  std::string path = scalarPath(name);
  const auto at = scalars.find(path);
  if (at != scalars.end()) return &at->second;
  if (noScalars.contains(name)) return static_cast<const Series*>(nullptr);
  MSDBG_ASSIGN(bool there, hdf5::exists(file.id(), path));
  if (!there && name.find('/') != std::string::npos) {  // as it was written before
    path = datasetPath("/scalars", name);
    MSDBG_ASSIGN(there, hdf5::exists(file.id(), path));
  }
  if (!there) {
    noScalars.insert(name);
    return static_cast<const Series*>(nullptr);
  }
  auto read = readSeries(info(), path);
  if (!read.ok()) return read.error();
  return &scalars.emplace(path, std::move(*read)).first->second;
}

core::Result<std::optional<double>> SegmentReader::scalar(const std::string& name, std::int64_t iteration) {
  return lastScalar(name, iteration, iteration);
}

core::Result<std::optional<double>> SegmentReader::lastScalar(const std::string& name, std::int64_t first,
                                                              std::int64_t last) {
  MSDBG_ASSIGN(const Series* series, m_impl->series(name));
  if (!series) return std::optional<double>();
  const auto& iterations = series->iterations;
  const auto after = std::ranges::upper_bound(iterations, last);
  if (after == iterations.begin() || *std::prev(after) < first) return std::optional<double>();
  return std::optional(series->values[static_cast<std::size_t>(after - iterations.begin()) - 1]);
}

core::Result<TensorDataset*> SegmentReader::Impl::dataset(const std::string& group,
                                                          const core::TensorInfo& tensor) {
  auto known = groups.find(group);  // where only statistics are kept, there is none, and many ask
  if (known == groups.end()) {
    MSDBG_ASSIGN(const bool isThere, hdf5::exists(file.id(), group));
    known = groups.emplace(group, isThere).first;
  }
  if (!known->second) return static_cast<TensorDataset*>(nullptr);
  const std::string path = datasetPath(group, tensor.fullName());
  const auto at = tensors.find(path);
  if (at != tensors.end()) return &at->second;
  const auto there = hdf5::exists(file.id(), path);
  if (!there.ok()) return there.error().in(path);
  if (!*there) return static_cast<TensorDataset*>(nullptr);
  auto opened = group == "/batch" ? TensorDataset::openInput(info(), path, tensor)
                                  : TensorDataset::open(info(), path, tensor);
  if (!opened.ok()) return opened.error().in(path);
  return &tensors.emplace(path, std::move(*opened)).first->second;
}

core::Result<core::Tensor> SegmentReader::Impl::value(const std::string& group,
                                                      const core::TensorInfo& tensor,
                                                      std::int64_t iteration) {
  MSDBG_ASSIGN(TensorDataset * found, dataset(group, tensor));
  if (!found) return core::Error(core::ErrorCode::kUnavailable, "not stored");
  auto read = found->read(iteration);
  if (read.ok() || read.error().code() == core::ErrorCode::kUnavailable) return read;
  return read.error().in(datasetPath(group, tensor.fullName()));
}

core::Result<std::vector<std::int64_t>> SegmentReader::stored(const core::TensorInfo& tensor) {
  MSDBG_ASSIGN(const TensorDataset* dataset, m_impl->dataset("/tensor", tensor));
  return dataset ? dataset->iterations() : std::vector<std::int64_t>();
}

core::Result<core::Tensor> SegmentReader::tensor(const core::TensorInfo& tensor, std::int64_t iteration) {
  return m_impl->value("/tensor", tensor, iteration);
}

core::Result<core::Tensor> SegmentReader::state(const core::TensorInfo& tensor, std::int64_t iteration) {
  return m_impl->value("/state", tensor, iteration);
}

core::Result<SegmentReader::RecordedInput> SegmentReader::input(const core::TensorInfo& tensor,
                                                                std::int64_t iteration) {
  MSDBG_ASSIGN(core::Tensor value, m_impl->value("/batch", tensor, iteration));
  MSDBG_ASSIGN(const TensorDataset* dataset, m_impl->dataset("/batch", tensor));
  return RecordedInput{{std::move(value), dataset->divisor().value_or(1)}, dataset->divisor().has_value()};
}

}  // namespace msdbg::dump
