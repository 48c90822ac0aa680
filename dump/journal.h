// The journal of one rank: JSON lines, each closed by a check of its own text, so that a torn or changed line
// is recognised. Format: dump/FORMAT.md. JournalWriter holds the lock that says "still recording". Reading is
// a pure function of the bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/base/iteration_set.h"
#include "core_engine/base/result.h"
#include "dump/run_info.h"
#include "dump/stage_times.h"

namespace msdbg::dump {

/// `{…}` -> `{…,"check":"0123456789abcdef"}`: XXH3-64 of the object's text without the check.
std::string withCheck(const std::string& object);
/// The object's text, or nullopt when the check is missing or wrong.
std::optional<std::string> withoutCheck(std::string_view line);
/// The check itself, of a line that has one.
std::string checkOfLine(std::string_view line);

struct JournalHeader {
  int formatMajor = kFormatMajor, formatMinor = kFormatMinor, rank = 0, ranks = 1;
};

struct SegmentLine {
  std::int64_t segment = 0;
  std::string file;  // in the rank's folder
  core::IterationSet iterations;
  bool incomplete = false;  // the last iteration is
  std::uint64_t bytes = 0;  // of the file
  std::int64_t graph = 0;   // version
  std::string hash;         // of the file, 32 hexadecimal digits; "" in a line rebuilt from the segment
  std::uint64_t rawBytes = 0, storedBytes = 0;  // of /tensor: before and after compression
  std::int64_t tensors = 0;                     // datasets in /tensor
  std::vector<std::int64_t> replaces;           // segments whose iterations this file holds from now on
  bool tensorsDropped = false;                  // "dropped":"tensors": it holds the statistics only
  std::int64_t thinned = 0;                     // > 0: no statistics; every so many-th iteration kept its own
  core::IterationSet checkpoints, batches;      // iterations of which it holds one
  std::uint64_t stateBytes = 0, batchBytes = 0;  // of these, raw

  /// Whether there is anything that --max-size can drop.
  bool hasValues() const { return tensors > 0 || !checkpoints.empty() || !batches.empty(); }
};

/// How often the rank keeps checkpoints from here on.
struct CheckpointsLine {
  std::int64_t every = 0;
  std::uint64_t bytes = 0;  // of one, raw
};

struct GraphLine {
  std::int64_t graph = 0;  // version
  std::string file, hash;
  std::uint64_t bytes = 0;
  std::map<std::string, std::string> sources;  // file name as frames have it -> SHA-256 in sources/
};

/// A condition began to fire on a tensor of this rank while it was recorded (--on-hit).
struct HitLine {
  std::int64_t iteration = 0;
  std::string condition;     // as it was asked for: `gradient_vanishing:abs_mean_lt=1e-09`
  std::string tensor, node;  // full names; node "" for sources
  std::int64_t order = -1;   // of the node
  std::string parameter;     // of the condition, which was exceeded; "" where there is none
  double preset = 0, actual = 0;
  std::int64_t count = 0;  // wrong elements, when known
  std::string detail;
};

/// Iterations of which nothing was recorded, because the disk refused longer than what waits in memory
/// allows.
struct GapLine {
  core::IterationSet iterations;
  std::string why;             // path and the system's reason
  double from = 0, until = 0;  // Unix time, s: the first failure, and when recording went on
};

/// Training went back to an iteration that was recorded already: a second Trainer began, or a restored one
/// went on from there. Of an iteration that is recorded again the later segment counts.
struct RestartLine {
  std::int64_t iteration = 0, newest = 0;  // where it began again; the newest recorded before
};

/// The iteration does not follow from the one before: its parameters or states were set from outside, or
/// training began again there.
struct SetLine {
  std::int64_t iteration = 0;
};

/// Numbers that the program found after the iteration: of a round that ended with it, of an evaluation.
struct MetricsLine {
  std::int64_t iteration = 0;
  std::vector<std::pair<std::string, double>> values;  // by name
};

/// Name -> iteration -> value.
using Metrics = std::map<std::string, std::map<std::int64_t, double>>;

/// The rank stands at `index` of `size` along this axis of a mesh of ranks ("dp", "tp").
struct MeshAxis {
  std::string name;
  int index = 0, size = 1;
};

std::string formatHeader(const JournalHeader& header);
/// The first line of `journal.N`, with which a journal that could not be written to goes on.
std::string formatContinuation(int part);
std::string formatSegment(const SegmentLine& line);
std::string formatGraph(const GraphLine& line);
std::string formatHit(const HitLine& line);
std::string formatGap(const GapLine& line);
std::string formatRestart(const RestartLine& line);
std::string formatSet(const SetLine& line);
std::string formatMetrics(const MetricsLine& line);
std::string formatMesh(const std::vector<MeshAxis>& axes);
std::string formatTiming(const RecordingTimes& times);
std::string formatCheckpoints(const CheckpointsLine& line);
std::string formatEnd(const RunEnd& end);

struct Journal {
  std::optional<JournalHeader> header;
  std::vector<SegmentLine> segments;  // as written; replaced ones included
  std::vector<GraphLine> graphs;
  std::vector<HitLine> hits;
  std::vector<GapLine> gaps;
  std::vector<RestartLine> restarts;
  core::IterationSet anew;     // those of `set` and `restart` lines
  Metrics metrics;             // of a name and iteration the last value
  std::vector<MeshAxis> mesh;  // of the last `mesh` line
  std::optional<RecordingTimes> timing;
  std::optional<CheckpointsLine> checkpoints;  // the last one
  std::optional<RunEnd> end;
  std::vector<std::size_t> badLines;  // 1-based; whole lines that do not match their check or make no sense;
                                      // the first 1000
  std::vector<std::size_t> breaks;    // 1-based; lines that name another line before them than there is
  bool torn = false;                  // the last line has no end; it is in none of the above
  /// Of the last whole line: what the next one has to name. nullopt: that line is bad. "": there is none yet.
  std::optional<std::string> lastCheck = "";
};
Journal parseJournal(std::string_view text);

class SegmentLineParser;

/// Of the line of a segment what says which segments count.
struct SegmentGlance {
  std::int64_t segment = 0;
  std::string_view file;               // in the text
  std::vector<std::int64_t> replaces;  // segments
  std::string_view after;              // in the text: the check of the line before
};

/// The same, piece by piece: of the text only the last line is kept.
class JournalParser {
 public:
  /// mostIterations: in all segments together. A line that brings more is bad: a short text must not make us
  /// take much memory.
  /// `lastCheck`: of the line before the text, as Journal has it.
  explicit JournalParser(std::uint64_t mostIterations, std::optional<std::string> lastCheck = "");
  void add(std::string_view piece);
  /// Those that came so far. Who keeps books of them may clear them: finish() then has only the rest.
  std::vector<SegmentLine>& segments() { return m_journal.segments; }
  /// From now on segment lines are handed to `show` unread, with their text and line number; segment() reads
  /// those that turn out to count.
  using Show = std::function<void(const SegmentGlance&, std::string_view object, std::size_t line)>;
  void showSegments(Show show) { m_show = std::move(show); }
  /// A line that was shown. nullopt: it makes no sense, and is a bad one.
  std::optional<SegmentLine> segment(const SegmentGlance& shown, std::string_view object, std::size_t line);
  Journal finish();

 private:
  void line(std::string_view text);
  bool takeObject(std::string_view text);
  bool take(std::string_view check);
  bool isPossible(const SegmentLine& line);
  void addBad(std::size_t line);
  enum class Place { kFollows, kRepeated, kElsewhere };
  Place placeOf(std::optional<std::string_view> after, bool isFirst, std::string_view check);
  bool addSegment(SegmentLine line);
  Journal m_journal;
  std::uint64_t m_iterationsLeft;
  std::string m_rest;    // of a line whose end has not come
  std::string m_object;  // of the line that is read: without its check
  std::shared_ptr<SegmentLineParser> m_segmentLines;
  Show m_show;
  bool m_tooLong = false;
  std::size_t m_lines = 0;
};

/// Writes the journal of one rank, and holds its lock. A file that could not be written or synced is not
/// trusted again: the journal goes on in `journal.1`, `journal.2`, …, each of which names the line that it
/// follows. Thread-safe.
class JournalWriter {
 public:
  /// kUsage: the file has content (a recording already), or someone holds its lock. kIo.
  static core::Result<std::unique_ptr<JournalWriter>> create(const std::filesystem::path& file);
  ~JournalWriter();
  /// One write, one fsync. Each line gets the check of the line before it as its last key, "after". kIo: they
  /// are not durable; they are kept, and written before the next ones.
  core::Status append(std::span<const std::string> lines);
  core::Status append(const std::string& line) { return append({&line, 1}); }
  /// Goes with the next lines that are written. Writes nothing.
  void appendLater(const std::string& line);
  /// Writes what is kept. kIo as append().
  core::Status flush() { return append(std::span<const std::string>()); }
  /// Lines are kept that are not durable.
  bool isBehind() const;
  /// kIo: the folder was moved or removed, and perhaps another run lies there, whose files are not ours to
  /// touch. Other files of the run are named by path, so this is asked before they are.
  core::Status checkPlace() const;

 private:
  JournalWriter(int descriptor, std::filesystem::path file)
      : m_lock(descriptor), m_file(file), m_out(descriptor), m_outFile(std::move(file)) {}
  struct Chained {
    std::string text, lastCheck;
  };
  Chained chain(std::span<const std::string> lines) const;
  core::Status writeHere();
  core::Status goOn();
  mutable std::mutex m_mutex;
  const int m_lock;                    // of `journal`
  const std::filesystem::path m_file;  // that one
  int m_out;                           // where lines go: that one, or a later part; -1: to a new one
  std::filesystem::path m_outFile;
  int m_parts = 1;
  std::string m_lastCheck;             // of the last durable line
  std::vector<std::string> m_later;    // go with the next ones
  std::vector<std::string> m_waiting;  // not durable yet
};

}  // namespace msdbg::dump
