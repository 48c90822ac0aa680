// SegmentStore, the part that thins statistics: what is due, the work itself in steps, and its lines.
#include <algorithm>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "dump/policy/checkpoints.h"
#include "dump/writer/merge_plan.h"
#include "dump/writer/segment_store.h"
#include "dump/writer/thinning_plan.h"

namespace msdbg::dump {
namespace {

constexpr std::int64_t kLargestStep = 1'000'000'000'000'000;

// For the lines and the copy of run.json that a rank writes when it ends.
std::uint64_t reserveOf(std::uint64_t budget) { return std::min<std::uint64_t>(budget / 64, 64u << 10); }

std::uint64_t sizeOf(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  return error ? 0 : bytes;
}

// Rank 0 writes the graph and the sources: they are counted as a part of its share.
std::uint64_t runBytes(const std::filesystem::path& run) {
  std::uint64_t bytes = sizeOf(run / "run.json");
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run, error))
    if (entry.path().extension() == ".pb") bytes += sizeOf(entry.path());
  for (const auto& entry : std::filesystem::directory_iterator(run / "sources", error))
    bytes += sizeOf(entry.path());
  return bytes;
}

constexpr std::size_t kFewFiles = 4;

// Files without values that are to become one although they are fewer than is usual. The newest is not among
// them: it cannot thin yet.
std::vector<std::int64_t> fewFiles(const Retention& retention, std::size_t width) {
  if (retention.segments().empty()) return {};
  MergeLimits limits;
  limits.statisticsBytes = std::max<std::uint64_t>(retention.maxBytes() / 16, 64u << 10);
  limits.mayMerge = [newest = &retention.segments().back()](const KeptSegment& segment) {
    return !segment.values && &segment != newest;
  };
  limits.width = width;
  return planMerge(retention.segments(), limits);
}

}  // namespace

void SegmentStore::knowPlan(const GraphPlan& plan) {
  const auto [at, isNew] = m_batchTensors.try_emplace(plan.version);
  if (!isNew) return;
  for (const core::TensorInfo& tensor : plan.graph.tensors())
    if (inBatch(tensor)) at->second.insert(tensor.fullName());
  m_runBytes = m_rank == 0 ? runBytes(m_folder.parent_path()) : 0;
}

bool SegmentStore::keepsStatistics(std::int64_t iteration, std::int64_t step) const {
  return iteration % step == 0 || m_outliers.contains(iteration) ||
         (m_keep && m_keep(iteration, iteration) >= Keep::kLate);
}

void SegmentStore::measure() {
  std::uint64_t bytes = m_runBytes + sizeOf(m_folder / "journal") + sizeOf(m_folder / "run.json");
  for (int part = 1;; ++part) {
    const std::uint64_t more = sizeOf(m_folder / ("journal." + std::to_string(part)));
    if (more == 0) break;
    bytes += more;
  }
  m_retention.setOtherBytes(bytes + reserveOf(m_retention.maxBytes()));
}

// The least step by which something goes; what has nothing that could go stays.
bool SegmentStore::planThinning(std::uint64_t incoming) {
  while (!m_thinning) {
    const ThinningPlan plan = m_retention.nextThinning(incoming);
    if (plan.segments.empty()) return false;
    IterationSet all;
    for (const std::int64_t number : plan.segments) all.append(*m_retention.segment(number).which);
    std::int64_t step = plan.step * 10, kept = 0;
    for (; step <= kLargestStep; step *= 10) {
      kept = std::ranges::count_if(all, [&](std::int64_t i) { return keepsStatistics(i, step); });
      if (kept < static_cast<std::int64_t>(all.size())) break;
    }
    if (step > kLargestStep)
      m_retention.cannotThin(plan.segments);
    else
      beginThinning(plan.segments, step, all, kept > 0);
  }
  return true;
}

void SegmentStore::beginThinning(const std::vector<std::int64_t>& old, std::int64_t step,
                                 const IterationSet& all, bool anyKept) {
  const auto isOld = [&](std::int64_t segment) { return std::ranges::count(old, segment) > 0; };
  if (m_merge && std::ranges::any_of(m_merge->old(), isOld)) m_merge.reset();
  m_plan.clear();
  // Decided now: a hit that is told later must not be in both files or in none.
  IterationSet kept;
  for (const std::int64_t iteration : all)
    if (keepsStatistics(iteration, step)) kept.push_back(iteration);
  SegmentThinning::Task task{.old = old,
                             .step = step,
                             .hashes = m_batchTensors[m_retention.segment(old[0]).graph],
                             .keeps = [kept](std::int64_t iteration) { return kept.contains(iteration); },
                             .anyKept = anyKept};
  m_thinning = std::make_unique<SegmentThinning>(m_folder, m_rank, m_next, std::move(task));
  m_next += 2;
}

// False: it cannot be done now.
core::Result<bool> SegmentStore::thinStep() {
  MSDBG_TRY(m_journal->checkPlace());
  const core::Result<bool> done = m_thinning->step();
  if (done.ok() && *done) listThinned();
  if (done.ok()) return true;
  const std::vector<std::int64_t> old = m_thinning->task().old;
  m_thinning.reset();
  planMerge();
  if (done.error().code() == core::ErrorCode::kIo) {
    core::logInfo("statistics are not thinned now: " + done.error().message());
    return false;
  }
  if (old.size() > 1) return m_retention.cannotMerge(old), true;  // one by one, then
  core::logWarn("statistics of a segment cannot be thinned, which --max-size asks for: " +
                done.error().message());
  m_retention.cannotThin(old);
  return true;
}

// Both lines at once: the old files go only when both are durable.
void SegmentStore::listThinned() {
  const std::vector<std::int64_t> old = m_thinning->task().old;
  const KeptSegment before = m_retention.segment(old[0]);
  std::vector<KeptSegment> kept;
  std::vector<std::string> lines;
  for (SegmentLine line : m_thinning->lines()) {
    line.tensorsDropped = before.dropped;
    lines.push_back(formatSegment(line));
    KeptSegment& segment = kept.emplace_back(keptSegment(line));
    segment.step = m_thinning->task().step;
  }
  (void)m_journal->append(lines);
  m_thinning->listed();
  m_thinning.reset();
  m_retention.thin(old, kept);
  for (const std::int64_t segment : old) remove(m_folder / segmentFileName(segment), Dropped::kGoes);
  measure();
  planMerge();
}

// A small file is mostly overhead: before more rows go, few files of a kind become one, and where no more
// rows can go, any two. What cannot be merged is not planned again; where the disk refuses, that is all.
core::Status SegmentStore::thinFor(std::uint64_t incoming) {
  measure();
  std::vector<std::int64_t> before;
  while (m_retention.statisticsExceed(incoming)) {
    const bool canThin = m_thinning || !m_retention.nextThinning(incoming).segments.empty();
    const std::vector<std::int64_t> few =
        m_thinning ? std::vector<std::int64_t>() : fewFiles(m_retention, canThin ? kFewFiles : 2);
    if (!few.empty() && few != std::exchange(before, few)) {
      m_merge.reset();
      m_plan = few;
      do MSDBG_TRY(mergeStep());
      while (m_merge);
      continue;
    }
    if (!canThin || !planThinning(incoming)) break;
    MSDBG_ASSIGN(const bool did, thinStep());
    if (!did) break;
  }
  if (!m_saidTooMuch && m_retention.leastBytes() > m_retention.maxBytes()) {
    core::logWarn(
        core::formatBytes(m_retention.maxBytes()) +
        ", this rank's share of --max-size, is less than what always stays (scalars, digests, hashes of "
        "batches, the graph): " +
        core::formatBytes(m_retention.leastBytes()) + " by now");
    m_saidTooMuch = true;
  }
  return core::Ok{};
}

// In quiet moments, before it is urgent: room for two more segments as the newest.
void SegmentStore::planQuietThinning() {
  const std::vector<KeptSegment>& all = m_retention.segments();
  if (!all.empty() && !all.back().values) (void)planThinning(2 * all.back().bytes);
}

}  // namespace msdbg::dump
