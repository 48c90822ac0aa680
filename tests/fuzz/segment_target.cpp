// The bytes become a file, which is opened as segments are.
#include <filesystem>

#include "core_engine/tensor/statistics.h"
#include "dump/hdf5/at_exit.h"
#include "dump/reader/segment_reader.h"
#include "tests/dump/recorded_run.h"
#include "tests/fuzz/fuzz_targets.h"

namespace msdbg::fuzz {
namespace {

// HDF5 opens files by name only, and resolves the name: a file without one (memfd) it refuses.
std::filesystem::path fileOf(Bytes bytes) {
  static const test::TempDir folder;
  const std::filesystem::path file = folder / "segment.h5";
  test::writeText(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return file;
}

void readRows(const dump::StatisticsTable& table, std::size_t iterations) {
  std::size_t rows = 0;
  dump::StatisticsTable::Scratch scratch;
  std::vector<watch::StatisticsRow> piece;
  for (std::size_t i = 0; i < table.pieces(); ++i) {
    require(table.read(i, scratch, piece).ok(), "what was checked once is read");
    rows += piece.size();
  }
  require(rows == table.names().size() * iterations, "a table has a row for each iteration and name");
  const auto hashes = table.hashes();
  require(hashes.ok() && hashes->size() == rows, "and a hash");
}

// Whatever a segment says it holds; the size of what comes out is bounded by the graph's shapes.
void readAll(dump::SegmentReader& reader, const core::Graph& graph) {
  (void)reader.describe(0);
  if (const auto table = reader.statistics(); table.ok()) readRows(*table, reader.iterations().size());
  if (const auto names = reader.scalarNames(); names.ok()) {
    for (const std::string& name : *names) (void)reader.scalar(name, reader.iterations().front());
  }
  for (const core::TensorInfo& tensor : graph.tensors()) {
    for (const std::int64_t iteration : reader.iterations()) {
      if (const auto state = reader.state(tensor, iteration); state.ok())
        require(state->shape() == tensor.shape, "a state has the graph's shape");
      (void)reader.input(tensor, iteration);
    }
    const auto iterations = reader.stored(tensor);
    if (!iterations.ok()) continue;
    for (const std::int64_t iteration : *iterations) {
      const auto value = reader.tensor(tensor, iteration);
      if (value.ok()) require(value->dtype() == tensor.dtype, "a value has the graph's type");
    }
  }
}

}  // namespace

bool readSegment(Bytes input) {
  static const core::Graph graph = test::smallGraph(true);
  static const bool once = (dump::skipHdf5Cleanup(), true);
  (void)once;
  const auto reader = dump::SegmentReader::open(fileOf(input), 0);
  if (reader.ok()) readAll(**reader, graph);
  return reader.ok();
}

void fuzzSegment(Bytes input) { (void)readSegment(input); }

}  // namespace msdbg::fuzz
