// RunReader::verify: every byte of the run is covered by some hash; this looks at all of them.
#include <algorithm>
#include <utility>

#include "core_engine/tensor/statistics.h"
#include "dump/codec/file_hash.h"
#include "dump/iteration_digest.h"
#include "dump/reader/run_reader_internal.h"

namespace msdbg::dump {

using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

class RunVerifier {
 public:
  RunVerifier(RunReader& reader, RunReader::Impl& impl, const core::CancelToken& cancel,
              const Progress& progress)
      : m_reader(reader), m_impl(impl), m_cancel(cancel), m_progress(progress) {}

  void run() {
    for (const auto& [rank, index] : m_impl.ranks) {
      for (const SegmentLine& line : index.segments) m_total += line.bytes;
    }
    checkRunInfo();
    checkGraphs();
    for (const std::string& file : m_reader.sourceFiles())
      (void)m_reader.sourceText(file);  // lists its damage
    for (const auto& [rank, index] : m_impl.ranks) {
      checkJournal(index);
      while (!m_cancel.cancelled() && checkSegments(index)) {
      }
    }
  }

 private:
  // True: while the run is recorded, another segment has taken the place of one of these: those that are
  // listed now come next.
  bool checkSegments(const RankIndex& index) {
    const std::vector<SegmentLine> segments = index.segments;
    for (const SegmentLine& line : segments) {
      if (m_cancel.cancelled()) return false;
      if (m_checked.contains({index.rank, line.file})) continue;
      if (replaced(index, line)) return true;
      const std::size_t known = m_impl.damage.size();
      checkSegment(index, line);
      // One at a time is open: what each of its tensors keeps of the chunk that was read last adds up.
      if (const auto open = m_impl.open.find({index.rank.value, line.file}); open != m_impl.open.end())
        m_impl.close(open);
      // Taken away while it was looked at: what was found is not damage.
      if (m_impl.damage.size() > known && replaced(index, line)) {
        m_impl.forgetDamage(known);
        return true;
      }
      m_checked.emplace(index.rank, line.file);
      m_done += line.bytes;
      if (m_progress) m_progress(std::min(m_done, m_total), m_total);
    }
    return false;
  }

  bool replaced(const RankIndex& index, const SegmentLine& line) {
    std::error_code error;
    if (std::filesystem::exists(index.folder / line.file, error)) return false;
    (void)m_impl.reload(index.rank);  // false: the journal was read again already
    return std::ranges::find(index.segments, line.file, &SegmentLine::file) == index.segments.end();
  }

  void add(const RankIndex& index, const std::string& file, std::string what) {
    m_impl.addDamage(
        {"rank_" + std::to_string(index.rank.value) + "/" + file, std::move(what), index.rank, {}});
  }

  // A file of another length has another hash: a file with holes may be longer than anyone can read.
  core::Result<bool> hasHash(const std::filesystem::path& file, std::uint64_t bytes,
                             const std::string& wanted) const {
    std::error_code error;
    if (std::filesystem::file_size(file, error) != bytes && !error) return false;
    MSDBG_ASSIGN(const std::string hash, hashFile(file, m_cancel));
    return hash == wanted;
  }

  void checkRunInfo() {
    const core::Status status = verifyRunInfo(m_impl.folder);
    if (!status.ok()) m_impl.addDamage({"run.json", status.error().message(), core::Rank(), {}});
    for (const auto& [rank, index] : m_impl.ranks) {  // the copies; older runs have none
      const core::Status copy = verifyRunInfo(index.folder);
      if (!copy.ok() && copy.error().code() != core::ErrorCode::kMissing)
        add(index, "run.json", copy.error().message());
    }
  }

  // Each file once, however many ranks name it.
  void checkGraphs() {
    std::set<std::string> listed;
    for (const auto& [rank, index] : m_impl.ranks)
      for (const GraphLine& line : index.journal.graphs)
        if (listed.insert(line.file).second) checkGraph(line);
    for (const std::string& file : RunGraphs::files(m_impl.folder)) {
      if (listed.contains(file)) continue;
      const std::string hash = RunGraphs::hashInName(file);
      if (hash.empty()) {
        unlistedGraph();
        continue;
      }
      std::error_code error;
      GraphLine line;
      line.file = file, line.hash = hash;
      line.bytes = std::filesystem::file_size(m_impl.folder / file, error);
      checkGraph(line);
    }
  }

  void checkGraph(const GraphLine& line) {
    const auto same = hasHash(m_impl.folder / line.file, line.bytes, line.hash);
    if (!same.ok())
      m_impl.addDamage({line.file, same.error().message(), core::Rank(), {}});
    else if (!*same)
      m_impl.addDamage({line.file, "does not match its hash", core::Rank(), {}});
  }

  // The recorder writes the line right after the graph, and before any other: it may have died in between.
  void unlistedGraph() {
    const auto rank0 = m_impl.ranks.find(0);
    const bool died = rank0 != m_impl.ranks.end() && !rank0->second.journal.end &&
                      !rank0->second.listsSegments && rank0->second.journal.badLines.empty();
    if (!died)
      m_impl.addDamage(
          {"rank_0/journal", "does not list the newest graph, so it cannot be checked", core::Rank(0), {}});
  }

  void checkJournal(const RankIndex& index) {
    const Journal& journal = index.journal;
    if (journal.torn && !isRecording(index.folder)) add(index, "journal", "its last line is torn");
    if (!journal.end && m_impl.info.end.state == "finished") add(index, "journal", "its end is missing");
    // The newest segment is unlisted when the recorder died between the two writes; any other is not.
    for (const std::size_t i : index.unlisted) {
      const bool newest = i + 1 == index.segments.size() && !journal.end;
      if (!newest)
        add(index, index.segments[i].file,
            "the journal does not list it: there is no hash of the whole file");
    }
  }

  void checkSegment(const RankIndex& index, const SegmentLine& line) {
    if (!line.hash.empty()) {
      const auto same = hasHash(index.folder / line.file, line.bytes, line.hash);
      if (!same.ok()) {
        if (same.error().code() == core::ErrorCode::kCancelled) return;
        return m_impl.addDamage(index, line, core::Error(core::ErrorCode::kMissing, "the file is missing"),
                                line.iterations);
      }
      if (!*same) add(index, line.file, "the file does not match its hash in the journal");
    }
    // Not by its iterations: those may have been recorded again, and lie in a later segment too.
    RunReader::Impl::OpenSegment& open = m_impl.openSegment(index, line);
    if (open.failure) {
      if (!std::exchange(open.failureListed, true))
        m_impl.addDamage(index, line, *open.failure, line.iterations);
      return;
    }
    checkScalars(index, line, *open.reader);
    const auto statistics = m_impl.statistics(index, line, open);
    const StatisticsTable* table = statistics.ok() ? &(*statistics)->table() : nullptr;
    checkTensors(index, line, open, table);
    checkDigests(index, line, *open.reader, table);
    checkReplayable(index, line);
  }

  void checkScalars(const RankIndex& index, const SegmentLine& line, SegmentReader& reader) {
    const auto names = reader.scalarNames();
    if (!names.ok()) return m_impl.addDamage(index, line, names.error(), line.iterations);
    for (const std::string& name : *names) {
      const auto value = reader.scalar(name, line.iterations.front());
      if (!value.ok()) m_impl.addDamage(index, line, value.error(), line.iterations);
    }
    const auto described = reader.describe(index.rank.value);
    if (!described.ok()) m_impl.addDamage(index, line, described.error(), line.iterations);
  }

  // Where the rows are still there, the digest is that of their hashes.
  void checkDigests(const RankIndex& index, const SegmentLine& line, SegmentReader& reader,
                    const StatisticsTable* table) {
    const auto digests = reader.digests();
    if (!digests.ok()) return m_impl.addDamage(index, line, digests.error(), line.iterations);
    if (digests->empty() || line.thinned > 0 || !table) return;
    const auto hashes = table->hashes();
    if (!hashes.ok()) return m_impl.addDamage(index, line, hashes.error(), line.iterations);
    std::vector<std::pair<std::int64_t, std::size_t>> tensors;  // id, and which name of the table
    const core::GraphPart* part = m_impl.graphs.part(index.rank, line.graph);
    for (std::size_t name = 0; name < table->names().size(); ++name)
      if (const core::TensorId id = m_impl.graphs.find(part, table->names()[name]); id.valid())
        tensors.emplace_back(part ? part->localTensor(id).value : id.value, name);
    std::ranges::sort(tensors);
    for (std::size_t row = 0; row < digests->size(); ++row) {
      IterationDigest digest;
      for (const auto& [id, name] : tensors) digest.add(id, (*hashes)[row * table->names().size() + name]);
      if (digest.finish() == (*digests)[row]) continue;
      const std::int64_t iteration = reader.iterations()[row];
      m_impl.addDamage(index, line,
                       core::Error(core::ErrorCode::kDamaged,
                                   "/iteration/digest: that of iteration " + std::to_string(iteration) +
                                       " is not the digest of the hashes in /statistics and /record"),
                       {iteration});
    }
  }

  /// What /statistics and /record say of the values below /tensor.
  struct RecordedHashes {
    std::map<std::string, std::size_t> names;
    std::vector<core::Hash128> hashes;  // [iterations, names]
  };

  RecordedHashes hashesOf(const RankIndex& index, const SegmentLine& line, const StatisticsTable* table) {
    RecordedHashes recorded;
    if (!table || line.tensors == 0) return recorded;
    auto hashes = table->hashes();
    if (!hashes.ok()) {
      m_impl.addDamage(index, line, hashes.error(), line.iterations);
      return recorded;
    }
    recorded.hashes = std::move(*hashes);
    for (std::size_t i = 0; i < table->names().size(); ++i) recorded.names.emplace(table->names()[i], i);
    return recorded;
  }

  void checkTensors(const RankIndex& index, const SegmentLine& line, RunReader::Impl::OpenSegment& open,
                    const StatisticsTable* table) {
    const RecordedHashes recorded = hashesOf(index, line, table);
    std::int64_t found = 0;
    for (const core::TensorInfo* each : m_impl.tensorsOf(index.rank, line)) {
      const core::TensorInfo& tensor = *each;
      if (m_cancel.cancelled()) return;
      const auto iterations = open.reader->stored(tensor);
      if (!iterations.ok()) m_impl.addDamage(index, line, iterations.error(), line.iterations);
      if (!iterations.ok() || iterations->empty()) continue;
      ++found;
      for (const std::int64_t iteration : *iterations)
        checkValue(index, line, open, recorded, tensor, iteration);
    }
    if (!line.hash.empty() && found != line.tensors) {
      add(index, line.file,
          "holds " + std::to_string(found) + " readable tensors, the journal says " +
              std::to_string(line.tensors));
    }
  }

  // Reading lists what is damaged.
  void checkReplayable(const RankIndex& index, const SegmentLine& line) {
    const core::IterationSet checkpoints = line.checkpoints, batches = line.batches;
    for (const std::int64_t iteration : checkpoints) {
      if (m_cancel.cancelled()) return;
      const auto state = m_reader.checkpoint(index.rank, core::Iteration(iteration));
      if (state.ok()) checkState(index, line, *state);
    }
    for (const std::int64_t iteration : batches)
      if (!m_cancel.cancelled()) (void)m_reader.batch(index.rank, core::Iteration(iteration));
  }

  void checkState(const RankIndex& index, const SegmentLine& line, const core::TrainingState& state) {
    const core::GraphPart* part = m_impl.graphs.part(index.rank, line.graph);
    for (const auto& [name, value] : state.tensors) {
      const core::TensorId id = m_impl.graphs.find(part, name);
      if (!id.valid()) continue;
      const auto hash = m_reader.hash(index.rank, state.iteration, id);
      if (!hash.ok() || *hash == core::hashTensor(value)) continue;
      m_impl.addDamage(index, line,
                       core::Error(core::ErrorCode::kDamaged, "/state/" + name + ": the value of iteration " +
                                                                  std::to_string(state.iteration.value) +
                                                                  " does not match its recorded hash"),
                       {state.iteration.value});
    }
  }

  void checkValue(const RankIndex& index, const SegmentLine& line, RunReader::Impl::OpenSegment& open,
                  const RecordedHashes& recorded, const core::TensorInfo& tensor, std::int64_t iteration) {
    const auto value = open.reader->tensor(tensor, iteration);
    if (!value.ok() && value.error().code() == core::ErrorCode::kUnsupported) return;  // its bytes are right
    if (!value.ok()) return m_impl.addDamage(index, line, value.error(), {iteration});
    const auto name = recorded.names.find(tensor.fullName());
    if (name == recorded.names.end()) return;
    const auto row =
        std::ranges::lower_bound(open.reader->iterations(), iteration) - open.reader->iterations().begin();
    const std::size_t cell = static_cast<std::size_t>(row) * recorded.names.size() + name->second;
    if (core::hashTensor(*value) == recorded.hashes[cell]) return;
    m_impl.addDamage(index, line,
                     core::Error(core::ErrorCode::kDamaged,
                                 "/tensor/" + tensor.fullName() + ": the value of iteration " +
                                     std::to_string(iteration) + " does not match its hash in /statistics"),
                     {iteration});
  }

  RunReader& m_reader;
  RunReader::Impl& m_impl;
  const core::CancelToken& m_cancel;
  const Progress& m_progress;
  std::uint64_t m_done = 0, m_total = 0;
  std::set<std::pair<core::Rank, std::string>> m_checked;  // rank and file
};

std::vector<Damage> RunReader::verify(const core::CancelToken& cancel, const Progress& progress) {
  RunVerifier(*this, *m_impl, cancel, progress).run();
  return m_impl->damage;
}

}  // namespace msdbg::dump
