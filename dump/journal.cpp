#include "dump/journal.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core_engine/base/text.h"
#include "dump/json_internal.h"

namespace msdbg::dump {
namespace {

constexpr std::string_view kCheckKey = ",\"check\":\"";
constexpr const char *kAfter = "after", *kContinues = "continues";
constexpr std::size_t kCheckDigits = 16;
// A line from outside must not make us take more memory.
constexpr std::int64_t kMostIterations = 1 << 20;  // of one segment
constexpr std::size_t kLongestLine = 16u << 20;
constexpr std::size_t kLongestName = 255;
constexpr std::size_t kMostBadLines = 1000;

std::string checkOf(std::string_view object) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const std::uint64_t hash = XXH3_64bits(object.data(), object.size());
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[hash >> shift & 15];
  return text;
}

Json segmentJson(const SegmentLine& line) {
  Json json = {{"segment", line.segment},
               {"file", line.file},
               {"iterations", core::formatRanges(line.iterations)},
               {"bytes", line.bytes},
               {"graph", line.graph},
               {"hash", line.hash},
               {"raw_bytes", line.rawBytes},
               {"stored_bytes", line.storedBytes},
               {"tensors", line.tensors}};
  if (line.incomplete) json["incomplete"] = true;
  if (!line.replaces.empty()) json["replaces"] = line.replaces;
  if (line.tensorsDropped) json["dropped"] = "tensors";
  if (!line.checkpoints.empty()) {
    json["checkpoints"] = core::formatRanges(line.checkpoints);
    json["state_bytes"] = line.stateBytes;
  }
  if (!line.batches.empty()) {
    json["batches"] = core::formatRanges(line.batches);
    json["batch_bytes"] = line.batchBytes;
  }
  return json;
}

std::vector<std::int64_t> expand(const std::string& text) {
  const auto list = core::IndexList::parse(text);
  if (!list.ok()) throw std::runtime_error(list.error().message());
  std::vector<std::int64_t> iterations;
  for (const auto& range : list->ranges()) {
    if (range.last < range.first || range.last - range.first >= kMostIterations)
      throw std::runtime_error("bad range");
    for (std::int64_t i = range.first; i <= range.last; ++i) iterations.push_back(i);
    if (iterations.size() > kMostIterations) throw std::runtime_error("too many iterations");
  }
  return iterations;
}

// A file name of the folder itself, never a path that leads out of it.
std::string plainName(const std::string& name) {
  const bool strange =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == '/'; });
  if (name.empty() || name.size() > kLongestName || name[0] == '.' || strange)
    throw std::runtime_error("bad file name");
  return name;
}

std::vector<std::int64_t> numbers(const Json& json) {
  if (!json.is_array()) throw std::runtime_error("a list of numbers is expected");
  std::vector<std::int64_t> values;
  for (const Json& value : json) values.push_back(as<std::int64_t>(value));
  return values;
}

// Those of the segment's iterations that an optional key lists.
std::vector<std::int64_t> partOf(const std::vector<std::int64_t>& all, const Json& json, const char* key) {
  if (!json.contains(key)) return {};
  std::vector<std::int64_t> part = expand(json.at(key).get<std::string>());
  if (!std::ranges::includes(all, part))
    throw std::runtime_error("iterations that the segment does not hold");
  return part;
}

SegmentLine segmentFrom(const Json& json) {
  SegmentLine line;
  line.segment = as<std::int64_t>(json.at("segment"));
  line.file = plainName(json.at("file").get<std::string>());
  line.iterations = expand(json.at("iterations").get<std::string>());
  line.bytes = as<std::uint64_t>(json.at("bytes"));
  line.graph = field<std::int64_t>(json, "graph", 0);
  line.hash = json.at("hash").get<std::string>();
  line.rawBytes = field<std::uint64_t>(json, "raw_bytes", 0);
  line.storedBytes = field<std::uint64_t>(json, "stored_bytes", 0);
  line.tensors = field<std::int64_t>(json, "tensors", 0);
  line.incomplete = field(json, "incomplete", false);
  if (json.contains("replaces")) line.replaces = numbers(json.at("replaces"));
  line.tensorsDropped = field<std::string>(json, "dropped", "") == "tensors";
  line.checkpoints = partOf(line.iterations, json, "checkpoints");
  line.batches = partOf(line.iterations, json, "batches");
  line.stateBytes = field<std::uint64_t>(json, "state_bytes", 0);
  line.batchBytes = field<std::uint64_t>(json, "batch_bytes", 0);
  return line;
}

GraphLine graphFrom(const Json& json) {
  GraphLine line;
  line.graph = as<std::int64_t>(json.at("graph"));
  line.file = plainName(json.at("file").get<std::string>());
  line.hash = json.at("hash").get<std::string>();
  line.bytes = as<std::uint64_t>(json.at("bytes"));
  if (json.contains("sources")) {
    for (const auto& [file, digest] : json.at("sources").items())
      line.sources[file] = plainName(digest.get<std::string>());
  }
  return line;
}

// JSON has no NaN and no infinity.
Json numberJson(double value) { return std::isfinite(value) ? Json(value) : Json(core::formatDouble(value)); }

double numberFrom(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_string()) return as<double>(value);
  const std::string text = value.get<std::string>();
  if (text == "inf" || text == "-inf") return text == "inf" ? INFINITY : -INFINITY;
  return NAN;
}

HitLine hitFrom(const Json& json) {
  HitLine line;
  line.iteration = as<std::int64_t>(json.at("iteration"));
  line.condition = json.at("condition").get<std::string>();
  line.tensor = json.at("tensor").get<std::string>();
  line.node = field<std::string>(json, "node", "");
  line.order = field<std::int64_t>(json, "order", -1);
  line.parameter = field<std::string>(json, "parameter", "");
  line.preset = numberFrom(json, "preset");
  line.actual = numberFrom(json, "actual");
  line.count = field<std::int64_t>(json, "count", 0);
  line.detail = field<std::string>(json, "detail", "");
  return line;
}

GapLine gapFrom(const Json& json) {
  GapLine line;
  const auto list = core::IndexList::parse(json.at("iterations").get<std::string>());
  if (!list.ok()) throw std::runtime_error(list.error().message());
  line.iterations = list->text();
  line.why = field<std::string>(json, "why", "");
  line.from = field<double>(json, "from", 0);
  line.until = field<double>(json, "until", 0);
  return line;
}

JournalHeader headerFrom(const Json& json) {
  const Json& version = json.at("version");
  return {as<int>(version.at(0)), as<int>(version.at(1)), as<int>(json.at("rank")),
          as<int>(json.at("ranks"))};
}

RecordingTimes timingFrom(const Json& json) {
  RecordingTimes times;
  times.wallSeconds = json.at("wall_seconds").get<double>();
  times.writtenBy = field<std::string>(json, "written_by", "");
  for (std::size_t i = 0; i < kStages; ++i) {
    const auto stage = json.find(stageName(static_cast<Stage>(i)));
    if (stage == json.end()) continue;  // of another version
    times.stages[i] = {stage->at("seconds").get<double>(), as<std::uint64_t>(stage->at("bytes"))};
  }
  return times;
}

// Lines of kinds that a later minor version adds are skipped.
bool addLine(const Json& json, Journal& journal, std::uint64_t& iterationsLeft) {
  if (json.contains("segment")) {
    SegmentLine line = segmentFrom(json);
    if (line.iterations.size() > iterationsLeft) throw std::runtime_error("too many iterations");
    iterationsLeft -= line.iterations.size();
    journal.segments.push_back(std::move(line));
  } else if (json.contains("journal")) {
    if (!json.contains(kContinues)) journal.header = headerFrom(json);
  } else if (json.contains("gap")) {
    journal.gaps.push_back(gapFrom(json.at("gap")));
  } else if (json.contains("graph")) {
    journal.graphs.push_back(graphFrom(json));
  } else if (json.contains("hit")) {
    journal.hits.push_back(hitFrom(json.at("hit")));
  } else if (json.contains("timing")) {
    journal.timing = timingFrom(json.at("timing"));
  } else if (json.contains("checkpoints")) {
    const Json& line = json.at("checkpoints");
    journal.checkpoints = {line.at("every").get<std::int64_t>(), line.at("bytes").get<std::uint64_t>()};
  } else if (json.contains("end")) {
    journal.end = endFromJson(json.at("end"));
  }
  return true;
}

}  // namespace

std::string withCheck(const std::string& object) {
  return object.substr(0, object.size() - 1) + std::string(kCheckKey) + checkOf(object) + "\"}";
}

std::optional<std::string> withoutCheck(std::string_view line) {
  const std::size_t tail = kCheckKey.size() + kCheckDigits + 2;
  if (line.size() < tail + 1) return std::nullopt;
  const std::string object = std::string(line.substr(0, line.size() - tail)) + "}";
  if (withCheck(object) != line) return std::nullopt;
  return object;
}

std::string checkOfLine(std::string_view line) {
  return std::string(line.substr(line.size() - kCheckDigits - 2, kCheckDigits));
}

std::string formatHeader(const JournalHeader& header) {
  return withCheck(jsonText({{"journal", "msdbg"},
                             {"version", {header.formatMajor, header.formatMinor}},
                             {"rank", header.rank},
                             {"ranks", header.ranks}}));
}

std::string formatContinuation(int part) {
  return withCheck(jsonText({{"journal", "msdbg"}, {kContinues, part}}));
}

std::string formatSegment(const SegmentLine& line) { return withCheck(jsonText(segmentJson(line))); }

std::string formatGraph(const GraphLine& line) {
  return withCheck(jsonText({{"graph", line.graph},
                             {"file", line.file},
                             {"bytes", line.bytes},
                             {"hash", line.hash},
                             {"sources", line.sources}}));
}

std::string formatHit(const HitLine& line) {
  return withCheck(jsonText({{"hit",
                              {{"iteration", line.iteration},
                               {"condition", line.condition},
                               {"tensor", line.tensor},
                               {"node", line.node},
                               {"order", line.order},
                               {"parameter", line.parameter},
                               {"preset", numberJson(line.preset)},
                               {"actual", numberJson(line.actual)},
                               {"count", line.count},
                               {"detail", line.detail}}}}));
}

std::string formatGap(const GapLine& line) {
  return withCheck(jsonText(
      {{"gap",
        {{"iterations", line.iterations}, {"why", line.why}, {"from", line.from}, {"until", line.until}}}}));
}

std::string formatTiming(const RecordingTimes& times) {
  Json stages = {{"wall_seconds", times.wallSeconds}};
  for (std::size_t i = 0; i < kStages; ++i)
    stages[std::string(stageName(static_cast<Stage>(i)))] = {{"seconds", times.stages[i].seconds},
                                                             {"bytes", times.stages[i].bytes}};
  if (!times.writtenBy.empty()) stages["written_by"] = times.writtenBy;
  return withCheck(jsonText({{"timing", stages}}));
}

std::string formatCheckpoints(const CheckpointsLine& line) {
  return withCheck(jsonText({{"checkpoints", {{"every", line.every}, {"bytes", line.bytes}}}}));
}

std::string formatEnd(const RunEnd& end) { return withCheck(jsonText({{"end", endToJson(end)}})); }

// False: the object makes no sense. A line that stands there twice counts once.
bool JournalParser::take(std::string_view object, const std::string& check) {
  const auto& before = m_journal.lastCheck;
  return guarded(object,
                 [&](const Json& json) {
                   const bool second = before && !before->empty() && json.contains("journal") &&
                                       !json.contains(kContinues);  // a first line, again
                   const bool follows =
                       !second && (!before || field<std::string>(json, kAfter, *before) == *before);
                   if (!follows && m_journal.breaks.size() < kMostBadLines)
                     m_journal.breaks.push_back(m_lines);
                   return (!follows && check == *before) || addLine(json, m_journal, m_iterationsLeft);
                 })
      .ok();
}

void JournalParser::line(std::string_view text) {
  ++m_lines;
  const auto object = withoutCheck(text);
  const std::string check = object ? checkOfLine(text) : "";
  if ((!object || !take(*object, check)) && m_journal.badLines.size() < kMostBadLines)
    m_journal.badLines.push_back(m_lines);
  m_journal.lastCheck = object ? std::optional(check) : std::nullopt;
}

void JournalParser::add(std::string_view piece) {
  for (std::size_t end = 0; (end = piece.find('\n')) != std::string_view::npos;
       piece.remove_prefix(end + 1)) {
    m_rest += piece.substr(0, end);
    line(m_tooLong ? std::string_view() : m_rest);
    m_rest.clear();
    m_tooLong = false;
  }
  m_tooLong = m_tooLong || m_rest.size() + piece.size() > kLongestLine;
  if (m_tooLong)
    m_rest.clear();
  else
    m_rest += piece;
}

Journal JournalParser::finish() {
  m_journal.torn = m_tooLong || !m_rest.empty();
  return std::move(m_journal);
}

Journal parseJournal(std::string_view text) {
  JournalParser parser(UINT64_MAX);
  parser.add(text);
  return parser.finish();
}

}  // namespace msdbg::dump
