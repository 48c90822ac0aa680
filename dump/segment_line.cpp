#include <algorithm>
#include <array>
#include <charconv>
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
  if (name.empty() || name.size() > kLongestName || name[0] == '.') return false;
  return std::ranges::none_of(name, [](unsigned char c) { return c < ' ' || c == '/'; });
}

namespace {

bool skip(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

bool skip(std::string_view& text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || (text[0] == '0' && end != text.data() + 1)) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool skip(std::string_view& text, std::vector<std::int64_t>& numbers) {
  do {
    if (!skip(text, numbers.emplace_back())) return false;
  } while (skip(text, ","));
  return skip(text, "]");
}

}  // namespace

// Without a backslash, a second object and a second list every key of the text is one of the line.
std::optional<SegmentGlance> glanceAt(std::string_view object) {
  constexpr std::string_view kReplaces = ",\"replaces\":", kAfterKey = ",\"after\":\"";
  constexpr std::size_t kCheck = 16, kTail = kAfterKey.size() + kCheck + 2;
  SegmentGlance seen;
  std::string_view text = object;
  if (!skip(text, "{\"segment\":") || !skip(text, seen.segment) || !skip(text, ",\"file\":\"")) return {};
  seen.file = text.substr(0, text.find('"'));
  if (text.size() < kTail || text.find('\\') != text.npos || text.find('{') != text.npos) return {};
  std::string_view tail = text.substr(text.size() - kTail);
  if (!skip(tail, kAfterKey) || !tail.ends_with("\"}")) return {};
  seen.after = tail.substr(0, kCheck);
  if (seen.after.find('"') != text.npos || !isPlainName(seen.file)) return {};
  const std::size_t list = text.find('[');
  if (list == text.npos) return seen;
  if (!text.substr(0, list).ends_with(kReplaces)) return {};
  text.remove_prefix(list + 1);
  if (!skip(text, seen.replaces) || text.find('[') != text.npos) return {};
  return seen;
}

bool isPossible(const SegmentLine& line) {
  return isPlainName(line.file) && line.iterations.size() <= line.bytes / kLeastIterationBytes &&
         line.iterations.contains(line.checkpoints) && line.iterations.contains(line.batches);
}

bool SegmentLineParser::takeSet(json::value value, core::IterationSet& iterations) {
  std::string_view view;
  if (value.get_string().get(view) != simdjson::SUCCESS) return false;
  if (auto parsed = core::IterationSet::parse(view, kMostIterations))
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
