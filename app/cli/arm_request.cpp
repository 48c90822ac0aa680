#include "app/cli/arm_request.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "core_engine/base/text.h"
#include "dump/commit_file.h"

namespace msdbg::app {

using core::Error;
using core::ErrorCode;
using core::Result;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kSchema = "msdbg.arm/1";
constexpr std::size_t kMostBytes = 1 << 16;      // what the ranks read of it
constexpr std::int64_t kMostAhead = 1000000000;  // iterations; more is a slip of the hand

// "+4" from base on, or "104".
std::optional<std::int64_t> iterationOf(std::string_view text, std::int64_t base) {
  const bool relative = text.starts_with('+');
  if (relative) text.remove_prefix(1);
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > kMostAhead)
    return std::nullopt;
  return relative ? base + number : number;
}

std::optional<ArmedRange> rangeOf(const std::string& text, const std::string& level, std::int64_t base) {
  const std::vector<std::string> ends = core::split(text, '-');
  if (ends.size() > 2) return std::nullopt;
  const auto first = iterationOf(ends.front(), base), last = iterationOf(ends.back(), base);
  if (!first || !last || *last < *first) return std::nullopt;
  return ArmedRange{*first, *last, level};
}

}  // namespace

Result<std::vector<ArmedRange>> armedRanges(const std::string& list, const std::string& level,
                                            std::int64_t base) {
  std::vector<ArmedRange> ranges;
  for (const std::string& part : core::split(list, ',')) {
    const auto range = rangeOf(part, level, base);
    if (!range)
      return Error(ErrorCode::kUsage,
                   fmt::format("--iterations {}: '{}' is no range of iterations to come, such as +2-+4 or "
                               "110-120",
                               list, part));
    if (range->first < base)
      return Error(ErrorCode::kUsage,
                   fmt::format("--iterations {}: iteration {} is too near or over: the first that all ranks "
                               "can begin at is {} (+0), with --margin sooner",
                               list, range->first, base));
    ranges.push_back(*range);
  }
  return ranges;
}

Result<ArmRequest> ArmRequest::read(const std::filesystem::path& run) {
  ArmRequest request;
  const Result<std::string> text = dump::readFile(fileOf(run), kMostBytes);
  if (!text.ok() && text.error().code() == ErrorCode::kMissing) return request;
  if (!text.ok()) return text.error();
  const Error damaged(ErrorCode::kDamaged,
                      fileOf(run).string() + ": it is no request of msdbg arm; take it back with --cancel");
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || json.value("schema", Json()) != kSchema ||
      !json.value("ranges", Json()).is_array())
    return damaged;
  for (const Json& row : json["ranges"]) {
    const bool whole = row.is_object() && row.value("first", Json()).is_number_integer() &&
                       row.value("last", Json()).is_number_integer() &&
                       row.value("level", Json()).is_string();
    if (!whole) return damaged;
    request.ranges.push_back({row["first"], row["last"], row["level"]});
  }
  return request;
}

core::Status ArmRequest::write(const std::filesystem::path& run) const {
  Json json = {{"schema", kSchema}, {"ranges", Json::array()}};
  for (const ArmedRange& range : ranges)
    json["ranges"].push_back({{"level", range.level}, {"first", range.first}, {"last", range.last}});
  const std::string text = json.dump() + "\n";
  if (text.size() > kMostBytes)
    return Error(ErrorCode::kUsage, "--iterations: too many ranges for one request; ask for fewer");
  return dump::commitFile(fileOf(run), text);
}

}  // namespace msdbg::app
