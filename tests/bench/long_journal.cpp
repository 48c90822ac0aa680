#include "tests/bench/long_journal.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/graph/graph_io.h"
#include "dump/journal.h"
#include "dump/writer/graph_files.h"
#include "dump/writer/retention.h"
#include "dump/writer/segment_writer.h"
#include "tests/bench/support.h"

namespace msdbg::bench {
namespace {

using dump::SegmentLine;

std::string fileName(std::int64_t segment) {
  const std::string number = std::to_string(segment);
  return "segment_" + std::string(6 - std::min<std::size_t>(6, number.size()), '0') + number + ".h5";
}

core::Graph oneTensor() {
  core::Graph graph("network");
  core::TensorInfo x;
  x.dtype = core::DType::Float32;
  x.shape = {4};
  x.role = core::TensorRole::kInput;
  x.name = "network/x";
  graph.addSource(x);
  return graph;
}

// As SegmentStore keeps its books, with lines in place of files.
class Books {
 public:
  explicit Books(const LongJournal& what) : m_what(what), m_retention({}) {}

  void commit(std::int64_t first) {
    SegmentLine line;
    for (std::int64_t i = 0; i < m_what.iterationsPerSecond; ++i) line.iterations.push_back(first + i);
    m_retention.add(add(std::move(line), 0));
    for (auto plan = m_retention.nextMerge(); !plan.empty(); plan = m_retention.nextMerge()) merge(plan);
  }
  std::vector<SegmentLine>& lines() { return m_lines; }
  const std::vector<dump::KeptSegment>& live() const { return m_retention.segments(); }

 private:
  dump::KeptSegment add(SegmentLine line, int level) {
    line.segment = static_cast<std::int64_t>(m_lines.size());
    line.file = fileName(line.segment);
    line.bytes = 20'000 + m_what.bytesPerIteration * line.iterations.size();
    line.hash = "00112233445566778899aabbccddeeff";
    const dump::KeptSegment kept{.segment = line.segment,
                                 .first = line.iterations.front(),
                                 .last = line.iterations.back(),
                                 .iterations = static_cast<std::int64_t>(line.iterations.size()),
                                 .bytes = line.bytes,
                                 .level = level};
    m_lines.push_back(std::move(line));
    return kept;
  }
  void merge(const std::vector<std::int64_t>& old) {
    SegmentLine line;
    line.replaces = old;
    int level = 0;
    for (const std::int64_t segment : old) {
      line.iterations.append(m_lines[static_cast<std::size_t>(segment)].iterations);
      level = std::max(level, m_retention.segment(segment).level);
    }
    m_retention.replace(old, add(std::move(line), level + 1));
  }

  LongJournal m_what;
  dump::Retention m_retention;
  std::vector<SegmentLine> m_lines;
};

void writeFile(const std::filesystem::path& folder, const std::shared_ptr<const dump::GraphPlan>& plan,
               SegmentLine& line) {
  std::vector<dump::IterationRecord> records;
  for (const std::int64_t iteration : line.iterations) {
    dump::IterationRecord record;
    record.iteration = iteration;
    record.complete = true;
    record.scalars = {{"loss", 1.0 / static_cast<double>(iteration + 1)}};
    record.plan = plan;
    record.statistics.resize(1);
    record.seen.resize(1);
    records.push_back(std::move(record));
  }
  std::vector<const dump::IterationRecord*> pointers;
  for (const dump::IterationRecord& record : records) pointers.push_back(&record);
  dump::SegmentWriter writer(0);
  const auto image = require(writer.build(line.segment, pointers, false));
  line.bytes = image.size;
  line.hash = require(dump::commitImage(folder / line.file, image)).text();
}

void writeJournal(const std::filesystem::path& file, const dump::GraphLine& graph,
                  std::span<const SegmentLine> lines) {
  const auto journal = require(dump::JournalWriter::create(file));
  std::vector<std::string> texts = {dump::formatHeader({}), dump::formatGraph(graph)};
  const auto flush = [&] {
    require(journal->append(texts));
    texts.clear();
  };
  for (const SegmentLine& line : lines) {
    texts.push_back(dump::formatSegment(line));
    if (texts.size() == 10'000) flush();
  }
  texts.push_back(dump::formatEnd({.state = "finished"}));
  flush();
}

}  // namespace

void writeLongRun(const std::filesystem::path& run, const LongJournal& what) {
  dump::RunInfo info;
  info.command = {"msdbg_reader_bench"};
  info.end.state = "finished";
  std::filesystem::create_directories(run / "rank_0");
  require(dump::writeRunInfo(run, info));
  dump::RecordOptions options;
  options.policy = dump::Policy::kNone;
  const core::Graph graph = oneTensor();
  const auto plan = std::make_shared<const dump::GraphPlan>(
      graph, 0, require(dump::Decisions::make(graph, options, core::Rank(0))), options, 1);
  Books books(what);
  for (std::int64_t i = 0; i < what.seconds; ++i) books.commit(i * what.iterationsPerSecond);
  for (const dump::KeptSegment& live : books.live())
    writeFile(run / "rank_0", plan, books.lines()[static_cast<std::size_t>(live.segment)]);
  const std::string bytes = core::serializeGraph(plan->graph);
  writeJournal(run / "rank_0/journal", require(dump::writeGraph(run, core::Rank(0), 0, plan->graph, bytes)),
               books.lines());
}

}  // namespace msdbg::bench
