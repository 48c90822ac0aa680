#include "core_engine/base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

namespace msdbg::core {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// A `[…]` in a glob: does it hold c, and where does the pattern go on. nullopt: never closed, '[' means
/// itself.
struct ClassMatch {
  bool matches;
  std::size_t next;
};
std::optional<ClassMatch> matchClass(std::string_view pattern, std::size_t at, char c) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  for (const std::size_t first = i; i < pattern.size(); ++i) {
    if (pattern[i] == ']' && i > first) return ClassMatch{found != negated, i + 1};
    const bool range = i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']';
    const auto low = static_cast<unsigned char>(pattern[i]);
    if (range) i += 2;
    const auto high = static_cast<unsigned char>(pattern[i]);
    found = found || (low <= static_cast<unsigned char>(c) && static_cast<unsigned char>(c) <= high);
  }
  return std::nullopt;
}

/// Where the pattern goes on after its item at `at` took the character c; kNone when it does not match.
std::size_t matchOne(std::string_view pattern, std::size_t at, char c) {
  if (pattern[at] == '?') return at + 1;
  if (pattern[at] == '[') {
    if (const auto match = matchClass(pattern, at, c)) return match->matches ? match->next : kNone;
  }
  return pattern[at] == c ? at + 1 : kNone;
}

/// Edits (insert, delete, replace, swap of neighbours) that turn a into b, ignoring case.
std::size_t editDistance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// The last components of a path, as many as `wanted` has: what a user means by a suffix.
std::string_view sameDepthSuffix(std::string_view wanted, std::string_view candidate) {
  auto depth = std::count(wanted.begin(), wanted.end(), '/');
  for (std::size_t i = candidate.size(); i-- > 0;)
    if (candidate[i] == '/' && depth-- == 0) return candidate.substr(i + 1);
  return candidate;
}

constexpr std::size_t kFar = 1'000'000;

/// Smaller is nearer; kFar or more: not near at all.
std::size_t farness(std::string_view wanted, std::string_view candidate) {
  const std::size_t allowed = std::max<std::size_t>(2, wanted.size() / 3);
  const std::size_t distance =
      std::min(editDistance(wanted, candidate), editDistance(wanted, sameDepthSuffix(wanted, candidate)));
  if (distance <= allowed && distance < wanted.size()) return distance;
  const bool part = wanted.size() > 1 && candidate.find(wanted) != kNone;
  return part ? 1000 + candidate.size() - wanted.size() : kFar;
}

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr Unit kUnits[] = {{"", 1},
                           {"b", 1},
                           {"k", 1'000},
                           {"kb", 1'000},
                           {"kib", 1ull << 10},
                           {"m", 1'000'000},
                           {"mb", 1'000'000},
                           {"mib", 1ull << 20},
                           {"g", 1'000'000'000},
                           {"gb", 1'000'000'000},
                           {"gib", 1ull << 30},
                           {"t", 1'000'000'000'000},
                           {"tb", 1'000'000'000'000},
                           {"tib", 1ull << 40}};

const Unit* findUnit(std::string_view text) {
  std::string lower;
  for (const char c : text)
    if (c != ' ') lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto unit =
      std::find_if(std::begin(kUnits), std::end(kUnits), [&](auto& u) { return u.name == lower; });
  return unit == std::end(kUnits) ? nullptr : unit;
}

}  // namespace

bool globMatch(std::string_view pattern, std::string_view text) {
  // Only the last star is ever tried again: what came before it has matched as early as it can.
  std::size_t p = 0, t = 0, afterStar = kNone, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      afterStar = ++p;
      resume = t;
      continue;
    }
    const std::size_t next = p < pattern.size() ? matchOne(pattern, p, text[t]) : kNone;
    if (next != kNone) {
      p = next;
      ++t;
    } else if (afterStar != kNone) {
      p = afterStar;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == kNone;
}

bool isGlob(std::string_view pattern) { return pattern.find_first_of("*?[") != kNone; }

std::vector<std::string> nearestNames(std::string_view wanted, std::span<const std::string> candidates,
                                      std::size_t count) {
  std::vector<std::pair<std::size_t, std::size_t>> near;  // farness, place in the list
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (const std::size_t far = farness(wanted, candidates[i]); far < kFar) near.emplace_back(far, i);
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (const auto& [far, i] : near) {
    if (names.size() == count) break;
    if (std::find(names.begin(), names.end(), candidates[i]) == names.end()) names.push_back(candidates[i]);
  }
  return names;
}

std::string didYouMean(std::string_view wanted, std::span<const std::string> candidates) {
  const std::vector<std::string> names = nearestNames(wanted, candidates);
  if (names.empty()) return "";
  if (names.size() == 1) return "; did you mean " + names[0] + "?";
  const std::span<const std::string> all = names;
  return "; did you mean " + join(all.first(all.size() - 1), ", ") + " or " + names.back() + "?";
}

Result<std::uint64_t> parseBytes(std::string_view text) {
  const auto fail = [&](const char* why) {
    return Error(ErrorCode::kUsage,
                 "size '" + std::string(text) + "' " + why + "; write for example 250MB, 2GiB or 1048576");
  };
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const Unit* unit = findUnit(text.substr(digits));
  if (digits == 0 || !unit) return fail("is not a number of bytes");
  const char* const end = text.data() + digits;
  std::uint64_t whole = 0;
  if (const auto [stop, code] = std::from_chars(text.data(), end, whole);
      code == std::errc{} && stop == end) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(whole, unit->bytes, &bytes)) return fail("is too large");
    return bytes;
  }
  double number = 0;
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code == std::errc::result_out_of_range) return fail("is too large");
  if (code != std::errc{} || stop != end) return fail("is not a number of bytes");
  const double bytes = number * static_cast<double>(unit->bytes);
  if (!(bytes < 18446744073709551616.0)) return fail("is too large");
  return static_cast<std::uint64_t>(bytes);
}

std::string formatBytes(std::uint64_t bytes) {
  static constexpr const char* kNames[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.5; value /= 1000) ++unit;
  char text[32];
  std::snprintf(text, sizeof text, value < 9.95 ? "%.1f %s" : "%.0f %s", value, kNames[unit]);
  return text;
}

std::string formatDouble(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> text;
  const auto [end, code] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

std::string formatShort(double value, int digits) {
  if (!std::isfinite(value)) return formatDouble(value);
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end - start));
    if (end == kNone) return parts;
    start = end + 1;
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != parts.data()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace msdbg::core
