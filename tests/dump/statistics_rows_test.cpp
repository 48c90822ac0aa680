// Rows of statistics as whoever checks a long run asks for them: iteration by iteration, over all tensors,
// ranks in turn. Many tensors in few iterations: every segment has rows for several pieces, however slow the
// machine.
#include <hdf5.h>

#include <catch2/catch.hpp>
#include <deque>
#include <fstream>

#include "dump/reader/row_cache.h"
#include "dump/reader/segment_reader.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using core::Iteration;
using core::Rank;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kRanks = 2, kIterations = 3, kOfEachKind = 10'000;

core::Graph wideGraph() {
  core::Graph graph("network");
  for (const char* kind : {"t", "hashed"}) {
    for (std::int64_t i = 0; i < kOfEachKind; ++i) {
      core::TensorInfo tensor;
      tensor.dtype = core::DType::Float32;
      tensor.shape = core::Shape{2};
      tensor.role = core::TensorRole::kConstant;
      tensor.name = "network/" + std::string(kind) + std::to_string(i);
      graph.addSource(tensor);
    }
  }
  return graph;
}

/// Statistics of half of the tensors, the hashes of the others; no values. Made once, never changed.
class WideRun {
 public:
  WideRun() {
    dump::RecordOptions options;
    options.policy = dump::Policy::kStats;
    options.rules = {{.policy = dump::Policy::kRecord, .tensors = {"network/hashed*"}}};
    for (std::int64_t rank = 0; rank < kRanks; ++rank)
      test::record(path(), m_graph, options, {.iterations = kIterations, .rank = rank, .ranks = kRanks});
  }
  fs::path path() const { return m_folder / "run"; }
  const core::Graph& graph() const { return m_graph; }
  /// The first of a rank.
  static fs::path segment(const fs::path& run, std::int64_t rank) {
    return run / ("rank_" + std::to_string(rank)) / "segment_000000.h5";
  }

 private:
  test::TempDir m_folder;
  core::Graph m_graph = wideGraph();
};

const WideRun& wideRun() {
  static const WideRun run;
  return run;
}

core::Hash128 expected(const core::TensorInfo& tensor, std::int64_t iteration, std::int64_t rank) {
  return core::hashTensor(test::valueOf(tensor, iteration, rank));
}

struct OpenTable {
  OpenTable(dump::RowCache& cache, const fs::path& segment)
      : reader(dump::SegmentReader::open(segment, 0).orThrow()),
        rows(cache, reader->statistics().orThrow()) {}
  std::unique_ptr<dump::SegmentReader> reader;
  dump::CachedTable rows;
};

// Where the last byte of a column lies.
std::streamoff endOf(const fs::path& segment, const char* column) {
  const hid_t file = H5Fopen(segment.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, column, H5P_DEFAULT);
  REQUIRE(dataset >= 0);
  const haddr_t end = H5Dget_offset(dataset) + H5Dget_storage_size(dataset);
  H5Dclose(dataset);
  H5Fclose(file);
  return static_cast<std::streamoff>(end - 1);
}

void flipBitAt(const fs::path& file, std::streamoff place) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(place);
  const char changed = static_cast<char>(stream.get() ^ 1);
  stream.seekp(place).put(changed);
  REQUIRE(stream.flush().good());
}

}  // namespace

TEST_CASE("Every row of a run is the one recorded, forward and backward, ranks in turn") {
  const auto reader = test::openRun(wideRun().path());
  for (const std::int64_t iteration : {0, 1, 2, 1, 0}) {
    for (const core::TensorInfo& tensor : wideRun().graph().tensors()) {
      const bool hashed = tensor.name.starts_with("network/hashed");
      for (std::int64_t rank = 0; rank < kRanks; ++rank) {
        const auto found = reader->row(Rank(rank), Iteration(iteration), tensor.id);
        const core::Hash128 wanted = expected(tensor, iteration, rank);
        if (found.damaged || (found.row == nullptr) != hashed) FAIL(tensor.name);
        if (found.row && (found.row->values.hash != wanted || found.row->values.count != 2))
          FAIL(tensor.name);
        if (*reader->hash(Rank(rank), Iteration(iteration), tensor.id) != wanted) FAIL(tensor.name);
      }
    }
  }
  CHECK_FALSE(reader->row(Rank(0), Iteration(kIterations), core::TensorId(0)).row);
  CHECK_FALSE(reader->row(Rank(0), Iteration(kIterations), core::TensorId(0)).damaged);
  CHECK_FALSE(reader->row(Rank(kRanks), Iteration(0), core::TensorId(0)).row);
  CHECK(reader->damage().empty());
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("A row stays where it is until rows of 16 other pieces were asked for, and no more is held") {
  dump::RowCache cache(0);
  std::deque<OpenTable> tables;
  for (std::int64_t i = 0; i < 12; ++i)
    tables.emplace_back(cache, WideRun::segment(wideRun().path(), i % kRanks));
  REQUIRE(tables[0].rows.table().pieces() >= 4);
  std::deque<std::pair<const watch::StatisticsRow*, core::Hash128>> recent;
  const auto ask = [&](OpenTable& table, std::size_t name) {
    const watch::StatisticsRow* row = table.rows.row(0, name).orThrow();
    recent.emplace_back(row, row->values.hash);
    if (recent.size() > dump::RowCache::kLeastPieces) recent.pop_front();
    for (const auto& [known, hash] : recent) CHECK(known->values.hash == hash);
  };
  for (int round = 0; round < 3; ++round) {
    for (OpenTable& table : tables)
      for (const std::size_t name : {0, 9000, 10'000}) ask(table, name);  // each in another piece
  }
  CHECK(cache.bytes() <=
        dump::RowCache::kLeastPieces * dump::StatisticsTable::kPieceRows * sizeof(watch::StatisticsRow));
  tables.clear();
  CHECK(cache.bytes() == 0);
}

TEST_CASE("A file that changes after it was checked costs its rows, and no wrong one comes out") {
  const test::TempDir folder;
  const fs::path run = folder / "run";
  fs::copy(wideRun().path(), run, fs::copy_options::recursive);
  const fs::path segment = WideRun::segment(run, 0);
  const std::streamoff end = endOf(segment, "/statistics/mean");
  const std::int64_t iteration = dump::SegmentReader::open(segment, 0).orThrow()->iterations().back();
  const auto reader = test::openRun(run);
  const auto& last = reader->graph().tensor(test::tensorNamed(wideRun().graph(), "network/t9999:0"));
  REQUIRE(reader->row(Rank(0), Iteration(iteration), core::TensorId(0)).row);
  flipBitAt(segment, end);
  CHECK(reader->row(Rank(0), Iteration(iteration), last.id).damaged);
  const auto refused = reader->statistics(Rank(0), Iteration(iteration), last.id);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == core::ErrorCode::kDamaged);
  CHECK_THAT(refused.error().message(), Catch::Contains("rank_0/segment_000000.h5: /statistics/mean: ") &&
                                            Catch::Contains("changed while it was read"));
  CHECK(reader->row(Rank(1), Iteration(0), last.id).row);
  REQUIRE(reader->damage().size() == 1);
  CHECK(reader->damage()[0].where == "rank_0/segment_000000.h5: /statistics/mean");
}
