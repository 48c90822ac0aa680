#include <algorithm>
#include <array>
#include <cstddef>

#include "dump/segment_line_internal.h"

namespace msdbg::dump {
namespace {

namespace json = simdjson::ondemand;

constexpr std::size_t kLongestName = 255;

enum Key : unsigned {
  kSegment,
  kFile,
  kIterations,
  kBytes,
  kGraph,
  kHash,
  kRawBytes,
  kStoredBytes,
  kTensors,
  kIncomplete,
  kReplaces,
  kDropped,
  kThinned,
  kCheckpoints,
  kStateBytes,
  kBatches,
  kBatchBytes,
  kAfter,
  kKeys
};

// In the order in which a line is written.
constexpr std::array<std::string_view, kKeys> kNames = {
    "segment",   "file",         "iterations",  "bytes",      "graph",       "hash",
    "raw_bytes", "stored_bytes", "tensors",     "incomplete", "replaces",    "dropped",
    "thinned",   "checkpoints",  "state_bytes", "batches",    "batch_bytes", "after"};

constexpr unsigned bit(Key key) { return 1u << key; }
constexpr unsigned kNeeded = bit(kSegment) | bit(kFile) | bit(kIterations) | bit(kBytes) | bit(kHash);

// Begins behind the key that was found last.
Key keyNamed(std::string_view name, unsigned from) {
  for (unsigned i = 0; i < kKeys; ++i) {
    const unsigned key = (from + i) % kKeys;
    if (kNames[key] == name) return static_cast<Key>(key);
  }
  return kKeys;
}

bool take(json::value value, std::int64_t& number) {
  return value.get_int64().get(number) == simdjson::SUCCESS;
}
bool take(json::value value, std::uint64_t& number) {
  return value.get_uint64().get(number) == simdjson::SUCCESS;
}
bool take(json::value value, bool& flag) { return value.get_bool().get(flag) == simdjson::SUCCESS; }

bool take(json::value value, std::string& text) {
  std::string_view view;
  if (value.get_string().get(view) != simdjson::SUCCESS) return false;
  text = view;
  return true;
}

bool take(json::value value, std::vector<std::int64_t>& numbers) {
  json::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) return false;
  for (auto each : list) {
    std::int64_t number = 0;
    if (each.get_int64().get(number) != simdjson::SUCCESS) return false;
    numbers.push_back(number);
  }
  return true;
}

}  // namespace

bool isPlainName(std::string_view name) {
  const bool strange = std::ranges::any_of(name, [](unsigned char c) { return c < ' ' || c == '/'; });
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' && !strange;
}

bool isPossible(const SegmentLine& line) {
  return isPlainName(line.file) && line.iterations.size() <= line.bytes / kLeastIterationBytes &&
         line.iterations.contains(line.checkpoints) && line.iterations.contains(line.batches);
}

bool SegmentLineParser::takeSet(json::value value, IterationSet& iterations) {
  std::string_view view;
  if (value.get_string().get(view) != simdjson::SUCCESS) return false;
  if (auto parsed = IterationSet::parse(view, kMostIterations))
    iterations = std::move(*parsed);
  else
    m_sensible = false;
  return true;
}

bool SegmentLineParser::takeValue(unsigned key, json::value value) {
  switch (static_cast<Key>(key)) {
    case kSegment:
      return take(value, m_line.segment);
    case kFile:
      return take(value, m_line.file);
    case kIterations:
      return takeSet(value, m_line.iterations);
    case kBytes:
      return take(value, m_line.bytes);
    case kGraph:
      return take(value, m_line.graph);
    case kHash:
      return take(value, m_line.hash);
    case kRawBytes:
      return take(value, m_line.rawBytes);
    case kStoredBytes:
      return take(value, m_line.storedBytes);
    case kTensors:
      return take(value, m_line.tensors);
    case kIncomplete:
      return take(value, m_line.incomplete);
    case kReplaces:
      return take(value, m_line.replaces);
    case kDropped: {
      std::string what;
      const bool text = take(value, what);
      m_line.tensorsDropped = what == "tensors";
      return text;
    }
    case kThinned:
      return take(value, m_line.thinned);
    case kCheckpoints:
      return takeSet(value, m_line.checkpoints);
    case kStateBytes:
      return take(value, m_line.stateBytes);
    case kBatches:
      return takeSet(value, m_line.batches);
    case kBatchBytes:
      return take(value, m_line.batchBytes);
    case kAfter:
      return take(value, m_after.emplace());
    case kKeys:
      break;  // a key that only the general reading knows
  }
  return false;
}

bool SegmentLineParser::parse(const std::string& object) {
  m_line = {};
  m_after.reset();
  m_sensible = true;
  json::document document;
  json::object fields;
  if (m_parser.iterate(object.data(), object.size(), object.capacity()).get(document) != simdjson::SUCCESS ||
      document.get_object().get(fields) != simdjson::SUCCESS)
    return false;
  unsigned seen = 0, next = 0;
  for (auto field : fields) {
    std::string_view name;
    json::value value;
    if (field.unescaped_key().get(name) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS)
      return false;
    const Key key = keyNamed(name, next);
    if ((seen >> key & 1) != 0 || !takeValue(key, value)) return false;
    seen |= bit(key);
    next = key + 1;
  }
  return (seen & kNeeded) == kNeeded && document.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

}  // namespace msdbg::dump
