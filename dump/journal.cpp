#include "dump/journal.h"

#include <xxhash.h>

#include <cmath>
#include <stdexcept>

#include "core_engine/base/text.h"
#include "dump/json_internal.h"

namespace msdbg::dump {
namespace {

constexpr std::string_view kCheckKey = ",\"check\":\"";
constexpr std::size_t kCheckDigits = 16;
constexpr std::int64_t kMostIterations =
    1 << 20;  // of one segment: a line from outside must not make us allocate more

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
  if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos)
    throw std::runtime_error("bad file name");
  return name;
}

SegmentLine segmentFrom(const Json& json) {
  SegmentLine line;
  line.segment = json.at("segment").get<std::int64_t>();
  line.file = plainName(json.at("file").get<std::string>());
  line.iterations = expand(json.at("iterations").get<std::string>());
  line.bytes = json.at("bytes").get<std::uint64_t>();
  line.graph = field<std::int64_t>(json, "graph", 0);
  line.hash = json.at("hash").get<std::string>();
  line.rawBytes = field<std::uint64_t>(json, "raw_bytes", 0);
  line.storedBytes = field<std::uint64_t>(json, "stored_bytes", 0);
  line.tensors = field<std::int64_t>(json, "tensors", 0);
  line.incomplete = field(json, "incomplete", false);
  line.replaces = field(json, "replaces", line.replaces);
  line.tensorsDropped = field<std::string>(json, "dropped", "") == "tensors";
  return line;
}

GraphLine graphFrom(const Json& json) {
  GraphLine line;
  line.graph = json.at("graph").get<std::int64_t>();
  line.file = plainName(json.at("file").get<std::string>());
  line.hash = json.at("hash").get<std::string>();
  line.bytes = json.at("bytes").get<std::uint64_t>();
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
  if (!value.is_string()) return value.get<double>();
  const std::string text = value.get<std::string>();
  if (text == "inf" || text == "-inf") return text == "inf" ? INFINITY : -INFINITY;
  return NAN;
}

HitLine hitFrom(const Json& json) {
  HitLine line;
  line.iteration = json.at("iteration").get<std::int64_t>();
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

JournalHeader headerFrom(const Json& json) {
  return {json.at("version").at(0).get<int>(), json.at("version").at(1).get<int>(),
          json.at("rank").get<int>(), json.at("ranks").get<int>()};
}

RecordingTimes timingFrom(const Json& json) {
  RecordingTimes times;
  times.wallSeconds = json.at("wall_seconds").get<double>();
  for (std::size_t i = 0; i < kStages; ++i) {
    const auto stage = json.find(stageName(static_cast<Stage>(i)));
    if (stage == json.end()) continue;  // of another version
    times.stages[i] = {stage->at("seconds").get<double>(), stage->at("bytes").get<std::uint64_t>()};
  }
  return times;
}

// Lines of kinds that a later minor version adds are skipped.
bool addLine(const Json& json, Journal& journal) {
  if (json.contains("segment")) {
    journal.segments.push_back(segmentFrom(json));
  } else if (json.contains("journal")) {
    journal.header = headerFrom(json);
  } else if (json.contains("graph")) {
    journal.graphs.push_back(graphFrom(json));
  } else if (json.contains("hit")) {
    journal.hits.push_back(hitFrom(json.at("hit")));
  } else if (json.contains("timing")) {
    journal.timing = timingFrom(json.at("timing"));
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

std::string formatHeader(const JournalHeader& header) {
  return withCheck(jsonText({{"journal", "msdbg"},
                             {"version", {header.formatMajor, header.formatMinor}},
                             {"rank", header.rank},
                             {"ranks", header.ranks}}));
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

std::string formatTiming(const RecordingTimes& times) {
  Json stages = {{"wall_seconds", times.wallSeconds}};
  for (std::size_t i = 0; i < kStages; ++i)
    stages[std::string(stageName(static_cast<Stage>(i)))] = {{"seconds", times.stages[i].seconds},
                                                             {"bytes", times.stages[i].bytes}};
  return withCheck(jsonText({{"timing", stages}}));
}

std::string formatEnd(const RunEnd& end) { return withCheck(jsonText({{"end", endToJson(end)}})); }

Journal parseJournal(std::string_view text) {
  Journal journal;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t length = text.find('\n');
    if (length == std::string_view::npos) {
      journal.torn = true;
      break;
    }
    const auto object = withoutCheck(text.substr(0, length));
    const bool good =
        object && guarded(*object, [&](const Json& json) { return addLine(json, journal); }).ok();
    if (!good) journal.badLines.push_back(number);
    text.remove_prefix(length + 1);
  }
  return journal;
}

}  // namespace msdbg::dump
