#include "dump/reader/rank_index.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <regex>

#include "dump/reader/listed_segments.h"
#include "dump/reader/segment_reader.h"

namespace msdbg::dump {
namespace {

Damage damageOf(const RankIndex& index, const std::string& file, std::string what,
                core::IterationSet iterations) {
  return {"rank_" + std::to_string(index.rank.value) + "/" + file, std::move(what), index.rank,
          std::move(iterations)};
}

// An iteration takes at least its number, its time and a flag in a segment; that of a segment may be listed
// again by some that replaced it. What files claim to hold does not count (one with holes may claim
// anything), but the room that they take; a few iterations are always possible, so that missing files can be
// named.
std::uint64_t mostIterations(const std::filesystem::path& folder) {
  constexpr std::uint64_t kLeast = 1u << 20, kListings = 8, kBytes = 8 + 8 + 1, kBlock = 512;
  std::uint64_t blocks = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    struct stat status = {};
    if (::stat(entry.path().c_str(), &status) == 0) blocks += static_cast<std::uint64_t>(status.st_blocks);
  }
  return kLeast + kListings * blocks * kBlock / kBytes;
}

// linesBefore: of the text that `part` was made from.
void addJournalDamage(RankIndex& index, const Journal& part, std::size_t linesBefore) {
  const auto add = [&](std::size_t line, const std::string& what) {
    index.damage.push_back(
        damageOf(index, "journal", "line " + std::to_string(linesBefore + line) + " " + what, {}));
  };
  for (const std::size_t line : part.badLines) add(line, "does not match its check");
  for (const std::size_t line : part.breaks)
    add(line, "does not follow the line before it: lines were removed, repeated or moved");
}

std::vector<std::string> segmentFiles(const std::filesystem::path& folder) {
  static const std::regex kName("segment_[0-9]{6,18}\\.h5");
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (std::regex_match(name, kName)) names.push_back(name);
  }
  return names;
}

// Returns the segment files that no line names. The folder is looked through before the journal is read: a
// file that is committed in between is in neither, and a refresh finds its line.
std::vector<std::string> readJournal(RankIndex& index) {
  const std::vector<std::string> files = segmentFiles(index.folder);
  ListedSegments listed(files);
  JournalParser parser(mostIterations(index.folder));
  parser.showSegments([&](const SegmentGlance& shown, std::string_view object, std::size_t line) {
    listed.take(shown, object, line);
  });
  const core::Status status =
      index.tail.readOn(index.folder / "journal", [&](std::string_view piece) { parser.add(piece); });
  if (!status.ok()) {
    index.damage.push_back(damageOf(index, "journal", "cannot be read: segments are taken as they are", {}));
    return files;
  }
  index.listsSegments = listed.any();
  index.segments = listed.finish(parser);
  index.journal = parser.finish();
  addJournalDamage(index, index.journal, 0);
  if (!index.journal.header && index.journal.badLines.empty() && !index.journal.torn) {
    index.damage.push_back(damageOf(index, "journal", "has no first line", {}));
  }
  return listed.unlisted();
}

// A copy that was about to replace a listed segment brings no new iterations and is left alone.
void addUnlisted(RankIndex& index, const std::vector<std::string>& files) {
  core::IterationSet covered;
  for (const SegmentLine& line : index.segments) covered.append(line.iterations);
  for (const std::string& name : files) {
    const auto reader = SegmentReader::open(index.folder / name, 0);
    const auto line =
        reader.ok() ? (*reader)->describe(index.rank.value) : core::Result<SegmentLine>(reader.error());
    if (!line.ok()) {
      index.damage.push_back(damageOf(index, name, "not in the journal, and " + line.error().message(), {}));
    } else if (!covered.contains(line->iterations)) {
      index.segments.push_back(*line);
      covered.append(line->iterations);
    }
  }
}

void checkFile(RankIndex& index, const SegmentLine& line) {
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(index.folder / line.file, error);
  if (error) {
    const bool there = std::filesystem::exists(index.folder / line.file, error);
    index.damage.push_back(
        damageOf(index, line.file, there ? "it is not a file" : "the file is missing", line.iterations));
  } else if (bytes != line.bytes) {
    index.damage.push_back(damageOf(
        index, line.file,
        "the file has " + std::to_string(bytes) + " bytes, the journal says " + std::to_string(line.bytes),
        line.iterations));
  }
}

void sortAndMap(RankIndex& index) {
  index.segmentOf.clear();
  index.unlisted.clear();
  std::stable_sort(
      index.segments.begin(), index.segments.end(),
      [](const SegmentLine& a, const SegmentLine& b) { return a.iterations.front() < b.iterations.front(); });
  for (std::size_t i = 0; i < index.segments.size(); ++i) {
    for (const core::IterationSet::Range& range : index.segments[i].iterations.ranges())
      index.segmentOf.assign(range, i);
    if (index.segments[i].hash.empty()) index.unlisted.push_back(i);
  }
  index.iterations = {};
  for (const auto& [first, part] : index.segmentOf.parts()) index.iterations.add({first, part.last});
}

}  // namespace

bool isRecording(const std::filesystem::path& rankFolder) {
  const int descriptor = ::open((rankFolder / "journal").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return held;
}

bool RankIndex::incomplete(std::int64_t iteration) const {
  const auto segment = segmentOf.find(iteration);
  if (!segment) return false;
  const SegmentLine& line = segments[*segment];
  return line.incomplete && line.iterations.back() == iteration;
}

namespace {

core::Error newerFormat(const RankIndex& index) {
  return {core::ErrorCode::kUnsupported, (index.folder / "journal").string() + ": format " +
                                             std::to_string(index.journal.header->formatMajor) +
                                             " is newer than what this msdbg reads"};
}

bool isNewer(const RankIndex& index) {
  return index.journal.header && index.journal.header->formatMajor > kFormatMajor;
}

core::Result<RankIndex> loadOnce(const std::filesystem::path& run, std::int64_t rank) {
  RankIndex index;
  index.rank = core::Rank(rank);
  index.folder = run / ("rank_" + std::to_string(rank));
  const std::vector<std::string> unlisted = readJournal(index);
  if (isNewer(index)) return newerFormat(index);
  addUnlisted(index, unlisted);
  for (const SegmentLine& line : index.segments) checkFile(index, line);
  sortAndMap(index);
  return index;
}

}  // namespace

// While the rank is recorded, a segment may be replaced after its line was read: then the journal has a newer
// line.
core::Result<RankIndex> loadRank(const std::filesystem::path& run, std::int64_t rank) {
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    auto index = loadOnce(run, rank);
    if (!index.ok() || index->damage.empty() || attempt == kAttempts || !isRecording(index->folder))
      return index;
  }
}

namespace {

// The line of a segment that was found without one takes its place.
void dropReplaced(RankIndex& index, const SegmentLine& by, RankGrowth& growth) {
  std::erase_if(index.segments, [&](const SegmentLine& old) {
    const bool replaced = std::ranges::find(by.replaces, old.segment) != by.replaces.end();
    if (replaced) growth.gone.push_back(old.file);
    return replaced || old.file == by.file;
  });
}

void takeIn(Metrics& metrics, const Metrics& more) {
  for (const auto& [name, values] : more)
    for (const auto& [iteration, value] : values) metrics[name][iteration] = value;
}

void takeIn(RankIndex& index, Journal more, std::uint64_t linesBefore) {
  addJournalDamage(index, more, linesBefore);
  for (const std::size_t line : more.badLines) index.journal.badLines.push_back(linesBefore + line);
  index.journal.lastCheck = std::move(more.lastCheck);
  if (more.header) index.journal.header = more.header;
  if (more.timing) index.journal.timing = more.timing;
  if (more.end) index.journal.end = std::move(more.end);
  if (more.checkpoints) index.journal.checkpoints = more.checkpoints;
  index.journal.torn = more.torn;
  for (GraphLine& line : more.graphs) index.journal.graphs.push_back(std::move(line));
  for (GapLine& line : more.gaps) index.journal.gaps.push_back(std::move(line));
  for (const RestartLine& line : more.restarts) index.journal.restarts.push_back(line);
  index.journal.anew.append(more.anew);
  takeIn(index.journal.metrics, more.metrics);
  for (HitLine& line : more.hits) index.journal.hits.push_back(std::move(line));
}

}  // namespace

core::Result<RankGrowth> extendRank(RankIndex& index) {
  RankGrowth growth;
  const std::uint64_t linesBefore = index.tail.lines;
  JournalParser parser(mostIterations(index.folder), index.journal.lastCheck);
  bool any = false;
  MSDBG_TRY(index.tail.readOn(index.folder / "journal", [&](std::string_view piece) {
    parser.add(piece);
    any = true;
  }));
  if (!any) return growth;
  Journal more = parser.finish();
  for (const SegmentLine& line : more.segments) {
    dropReplaced(index, line, growth);
    index.segments.push_back(line);
    for (const std::int64_t iteration : line.iterations) growth.iterations.push_back(iteration);
  }
  growth.any = index.tail.lines > linesBefore;
  growth.metrics = !more.metrics.empty();
  const bool segments = !more.segments.empty();
  index.listsSegments = index.listsSegments || segments;
  takeIn(index, std::move(more), linesBefore);
  if (isNewer(index)) return newerFormat(index);
  if (segments) sortAndMap(index);
  return growth;
}

}  // namespace msdbg::dump
