#include "dump/journal.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "core_engine/base/text.h"
#include "dump/json_internal.h"
#include "dump/segment_line_internal.h"

namespace msdbg::dump {
namespace {

constexpr std::string_view kCheckKey = ",\"check\":\"";
constexpr const char *kAfter = "after", *kContinues = "continues";
constexpr std::size_t kCheckDigits = 16;
constexpr std::size_t kLongestLine = 16u << 20;  // one from outside must not make us take more memory
constexpr std::size_t kMostBadLines = 1000;

std::array<char, kCheckDigits> digitsOf(std::string_view object) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const std::uint64_t hash = XXH3_64bits(object.data(), object.size());
  std::array<char, kCheckDigits> digits{};
  for (std::size_t i = 0; i < kCheckDigits; ++i) digits[i] = kDigits[hash >> (60 - 4 * i) & 15];
  return digits;
}

std::string checkOf(std::string_view object) {
  const auto digits = digitsOf(object);
  return {digits.begin(), digits.end()};
}

Json segmentJson(const SegmentLine& line) {
  Json json = {{"segment", line.segment},
               {"file", line.file},
               {"iterations", line.iterations.text()},
               {"bytes", line.bytes},
               {"graph", line.graph},
               {"hash", line.hash},
               {"raw_bytes", line.rawBytes},
               {"stored_bytes", line.storedBytes},
               {"tensors", line.tensors}};
  if (line.incomplete) json["incomplete"] = true;
  if (!line.replaces.empty()) json["replaces"] = line.replaces;
  if (line.tensorsDropped) json["dropped"] = "tensors";
  if (line.thinned > 0) json["thinned"] = line.thinned;
  if (!line.checkpoints.empty()) {
    json["checkpoints"] = line.checkpoints.text();
    json["state_bytes"] = line.stateBytes;
  }
  if (!line.batches.empty()) {
    json["batches"] = line.batches.text();
    json["batch_bytes"] = line.batchBytes;
  }
  return json;
}

core::IterationSet expand(const std::string& text) {
  auto iterations = core::IterationSet::parse(text, kMostIterations);
  if (!iterations) throw std::runtime_error("no list of iterations, or one of too many");
  return std::move(*iterations);
}

std::string plainName(const std::string& name) {
  if (!isPlainName(name)) throw std::runtime_error("bad file name");
  return name;
}

std::vector<std::int64_t> numbers(const Json& json) {
  if (!json.is_array()) throw std::runtime_error("a list of numbers is expected");
  std::vector<std::int64_t> values;
  for (const Json& value : json) values.push_back(as<std::int64_t>(value));
  return values;
}

// Those of the segment's iterations that an optional key lists.
core::IterationSet partOf(const Json& json, const char* key) {
  return json.contains(key) ? expand(json.at(key).get<std::string>()) : core::IterationSet();
}

SegmentLine segmentFrom(const Json& json) {
  SegmentLine line;
  line.segment = as<std::int64_t>(json.at("segment"));
  line.file = json.at("file").get<std::string>();
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
  line.thinned = field<std::int64_t>(json, "thinned", 0);
  line.checkpoints = partOf(json, "checkpoints");
  line.batches = partOf(json, "batches");
  line.stateBytes = field<std::uint64_t>(json, "state_bytes", 0);
  line.batchBytes = field<std::uint64_t>(json, "batch_bytes", 0);
  return line;
}

GraphLine graphFrom(const Json& json) {
  GraphLine line;
  line.graph = as<std::int64_t>(json.at("graph"));
  const std::string folder = "graphs/", name = json.at("file").get<std::string>();
  line.file = name.starts_with(folder) ? folder + plainName(name.substr(folder.size())) : plainName(name);
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
  const auto iterations = core::IterationSet::parse(json.at("iterations").get<std::string>(), UINT64_MAX);
  if (!iterations) throw std::runtime_error("no list of iterations");
  line.iterations = *iterations;
  line.why = field<std::string>(json, "why", "");
  line.from = field<double>(json, "from", 0);
  line.until = field<double>(json, "until", 0);
  return line;
}

std::vector<MeshAxis> meshFrom(const Json& json) {
  std::vector<MeshAxis> axes;
  for (const Json& axis : json)
    axes.push_back({axis.at(0).get<std::string>(), as<int>(axis.at(1)), as<int>(axis.at(2))});
  return axes;
}

void takeMetrics(const Json& json, Metrics& metrics) {
  const auto iteration = as<std::int64_t>(json.at("iteration"));
  const Json& values = json.at("values");
  for (const auto& [name, value] : values.items())
    metrics[name][iteration] = numberFrom(values, name.c_str());
}

RestartLine restartFrom(const Json& json) {
  return {as<std::int64_t>(json.at("iteration")), as<std::int64_t>(json.at("newest"))};
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

// Of any kind but a segment's. Lines of kinds that a later minor version adds are skipped.
void addLine(const Json& json, Journal& journal) {
  if (json.contains("journal")) {
    if (!json.contains(kContinues)) journal.header = headerFrom(json);
  } else if (json.contains("gap")) {
    journal.gaps.push_back(gapFrom(json.at("gap")));
  } else if (json.contains("restart")) {
    journal.restarts.push_back(restartFrom(json.at("restart")));
    journal.anew.push_back(journal.restarts.back().iteration);
  } else if (json.contains("set")) {
    journal.anew.push_back(as<std::int64_t>(json.at("set").at("iteration")));
  } else if (json.contains("metrics")) {
    takeMetrics(json.at("metrics"), journal.metrics);
  } else if (json.contains("mesh")) {
    journal.mesh = meshFrom(json.at("mesh"));
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
  return withCheck(jsonText({{"gap",
                              {{"iterations", line.iterations.text()},
                               {"why", line.why},
                               {"from", line.from},
                               {"until", line.until}}}}));
}

std::string formatSet(const SetLine& line) {
  return withCheck(jsonText({{"set", {{"iteration", line.iteration}}}}));
}

std::string formatMetrics(const MetricsLine& line) {
  Json values = Json::object();
  for (const auto& [name, value] : line.values) values[name] = numberJson(value);
  return withCheck(jsonText({{"metrics", {{"iteration", line.iteration}, {"values", values}}}}));
}

std::string formatMesh(const std::vector<MeshAxis>& axes) {
  Json list = Json::array();
  for (const MeshAxis& axis : axes) list.push_back({axis.name, axis.index, axis.size});
  return withCheck(jsonText({{"mesh", list}}));
}

std::string formatRestart(const RestartLine& line) {
  return withCheck(jsonText({{"restart", {{"iteration", line.iteration}, {"newest", line.newest}}}}));
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

JournalParser::JournalParser(std::uint64_t mostIterations, std::optional<std::string> lastCheck)
    : m_iterationsLeft(mostIterations), m_segmentLines(std::make_shared<SegmentLineParser>()) {
  m_journal.lastCheck = std::move(lastCheck);
}

// What a line has under "after", or that it is a first line again: whether it may come after the one before.
// One that may not and is that line again says nothing new.
JournalParser::Place JournalParser::placeOf(std::optional<std::string_view> after, bool isFirst,
                                            std::string_view check) {
  const auto& before = m_journal.lastCheck;
  const bool second = isFirst && before && !before->empty();
  if (!second && (!before || !after || *after == *before)) return Place::kFollows;
  if (m_journal.breaks.size() < kMostBadLines) m_journal.breaks.push_back(m_lines);
  return before && check == *before ? Place::kRepeated : Place::kElsewhere;
}

bool JournalParser::isPossible(const SegmentLine& line) {
  if (!dump::isPossible(line) || line.iterations.size() > m_iterationsLeft) return false;
  m_iterationsLeft -= line.iterations.size();
  return true;
}

bool JournalParser::addSegment(SegmentLine line) {
  if (m_show) return m_show({line.segment, line.file, line.replaces, {}}, m_object, m_lines), true;
  if (!isPossible(line)) return false;
  m_journal.segments.push_back(std::move(line));
  return true;
}

std::optional<SegmentLine> JournalParser::segment(const SegmentGlance& shown, std::string_view object,
                                                  std::size_t line) {
  m_object.reserve(object.size() + SegmentLineParser::kPadding);
  m_object = object;
  std::optional<SegmentLine> read;
  if (m_segmentLines->parse(m_object)) {
    if (m_segmentLines->isSensible()) read = std::move(m_segmentLines->line());
  } else if (auto general = guarded(m_object, segmentFrom); general.ok()) {
    read = *std::move(general);
  }
  if (read && read->segment == shown.segment && read->replaces == shown.replaces && isPossible(*read))
    return read;
  addBad(line);
  return std::nullopt;
}

// Nearly all lines are segments', and are read without the general reading, which takes twenty times as long.
bool JournalParser::take(std::string_view check) {
  if (m_show)
    if (const auto shown = glanceAt(m_object)) {
      if (placeOf(shown->after, false, check) != Place::kRepeated) m_show(*shown, m_object, m_lines);
      return true;
    }
  if (m_segmentLines->parse(m_object))
    return placeOf(m_segmentLines->after(), false, check) == Place::kRepeated ||
           (m_segmentLines->isSensible() && addSegment(std::move(m_segmentLines->line())));
  const auto read = guarded(m_object, [&](const Json& json) {
    const auto after = optionalField<std::string>(json, kAfter);
    const bool isFirst = json.contains("journal") && !json.contains(kContinues);
    if (placeOf(after, isFirst, check) == Place::kRepeated) return true;
    if (json.contains("segment")) return addSegment(segmentFrom(json));
    addLine(json, m_journal);
    return true;
  });
  return read.ok() && *read;
}

// What the check was made of: the line up to its check, and the end of the object.
bool JournalParser::takeObject(std::string_view text) {
  constexpr std::size_t kTail = kCheckKey.size() + kCheckDigits + 2;
  if (text.size() <= kTail) return false;
  const std::size_t length = text.size() - kTail;
  m_object.reserve(length + 1 + SegmentLineParser::kPadding);
  m_object.assign(text.substr(0, length)).push_back('}');
  const std::string_view tail = text.substr(length);
  return tail.starts_with(kCheckKey) && tail.ends_with("\"}") &&
         tail.substr(kCheckKey.size(), kCheckDigits) ==
             std::string_view(digitsOf(m_object).data(), kCheckDigits);
}

void JournalParser::addBad(std::size_t line) {
  if (m_journal.badLines.size() < kMostBadLines) m_journal.badLines.push_back(line);
}

void JournalParser::line(std::string_view text) {
  ++m_lines;
  const bool whole = takeObject(text);
  const std::string_view check =
      whole ? text.substr(text.size() - kCheckDigits - 2, kCheckDigits) : std::string_view();
  if (!whole || !take(check)) addBad(m_lines);
  if (!whole) return m_journal.lastCheck.reset();
  if (!m_journal.lastCheck) m_journal.lastCheck.emplace();
  m_journal.lastCheck->assign(check);
}

void JournalParser::add(std::string_view piece) {
  for (std::size_t end = 0; (end = piece.find('\n')) != std::string_view::npos;
       piece.remove_prefix(end + 1)) {
    if (m_rest.empty() && !m_tooLong) {
      line(piece.substr(0, end));
      continue;
    }
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
  std::ranges::sort(m_journal.badLines);
  return std::move(m_journal);
}

Journal parseJournal(std::string_view text) {
  JournalParser parser(UINT64_MAX);
  parser.add(text);
  return parser.finish();
}

}  // namespace msdbg::dump
