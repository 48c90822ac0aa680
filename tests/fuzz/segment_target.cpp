// The bytes become a file in memory: HDF5 opens files by name only.
#include <sys/mman.h>
#include <unistd.h>

#include "core_engine/tensor/statistics.h"
#include "dump/hdf5/at_exit.h"
#include "dump/reader/segment_reader.h"
#include "tests/dump/recorded_run.h"
#include "tests/fuzz/fuzz_targets.h"

namespace msdbg::fuzz {
namespace {

class MemoryFile {
 public:
  explicit MemoryFile(Bytes bytes) : m_descriptor(memfd_create("segment", MFD_CLOEXEC)) {
    require(m_descriptor >= 0, "a file in memory");
    while (!bytes.empty()) {
      const ssize_t written = write(m_descriptor, bytes.data(), bytes.size());
      require(written > 0, "a file in memory takes its bytes");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { close(m_descriptor); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(m_descriptor); }

 private:
  int m_descriptor;
};

// Whatever a segment says it holds; the size of what comes out is bounded by the graph's shapes.
void readAll(dump::SegmentReader& reader, const core::Graph& graph) {
  (void)reader.describe(0);
  if (const auto table = reader.statistics(); table.ok())
    require(
        table->rows.size() == table->names.size() * (table->names.empty() ? 0 : reader.iterations().size()),
        "a table has a row for each iteration and name");
  if (const auto names = reader.scalarNames(); names.ok()) {
    for (const std::string& name : *names) (void)reader.scalar(name, reader.iterations().front());
  }
  for (const core::TensorInfo& tensor : graph.tensors()) {
    const auto iterations = reader.stored(tensor);
    if (!iterations.ok()) continue;
    for (const std::int64_t iteration : *iterations) {
      const auto value = reader.tensor(tensor, iteration);
      if (value.ok()) require(value->dtype() == tensor.dtype, "a value has the graph's type");
    }
  }
}

}  // namespace

void fuzzSegment(Bytes input) {
  static const core::Graph graph = test::smallGraph(true);
  static const bool once = (dump::skipHdf5Cleanup(), true);
  (void)once;
  const MemoryFile file(input);
  const auto reader = dump::SegmentReader::open(file.path(), 0);
  if (reader.ok()) readAll(**reader, graph);
}

}  // namespace msdbg::fuzz
