// Small text tools that every command shares: globs, nearest names, index lists, sizes, foreign text made
// harmless.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/base/result.h"

namespace msdbg::core {

/// Shell-like match of the whole text: `*` (crosses '/'), `?`, `[abc]`, `[a-z]`, `[!a]`. An unclosed `[`
/// means itself. At most |text| * |pattern| steps, whatever the pattern.
bool globMatch(std::string_view pattern, std::string_view text);
bool isGlob(std::string_view pattern);

/// At most `count` candidates nearest to `wanted` (edit distance, then substring), best first; ties by
/// candidate order.
std::vector<std::string> nearestNames(std::string_view wanted, std::span<const std::string> candidates,
                                      std::size_t count = 3);
/// "; did you mean a, b or c?" or "" when nothing is near.
std::string didYouMean(std::string_view wanted, std::span<const std::string> candidates);

/// A set of non-negative integers written `0,2-4,100-` (both ends included, an open end means "to the last").
class IndexList {
 public:
  struct Range {
    std::int64_t first, last;
  };  // last == kOpen: no upper end
  static constexpr std::int64_t kOpen = INT64_MAX;

  static Result<IndexList> parse(std::string_view text);
  static IndexList all() { return IndexList({{0, kOpen}}); }
  explicit IndexList(std::vector<Range> ranges);  // sorted; overlapping and adjacent ranges are merged

  bool contains(std::int64_t value) const;
  std::span<const Range> ranges() const { return m_ranges; }
  std::string text() const;

 private:
  std::vector<Range> m_ranges;
};
/// `0-3,7` for a sorted list of numbers.
std::string formatRanges(std::span<const std::int64_t> sorted);

/// "250MB", "2GiB", "1048576" -> bytes. MB is 1e6, MiB is 2^20; a bare number is bytes.
Result<std::uint64_t> parseBytes(std::string_view text);
/// 1.5 GB, 312 MB, 4.2 kB (powers of 1000).
std::string formatBytes(std::uint64_t bytes);

/// Shortest text that reads back as the same double; nan, inf, -inf spelled so.
std::string formatDouble(double value);
/// For people: so many significant digits; a NaN of either sign is nan.
std::string formatShort(double value, int digits = 6);

/// The text as one line that a terminal only shows: control characters (C0, DEL, C1) become `\n`, `\x1b`,
/// `\u009b`, bytes that are no UTF-8 `\xff`. All else stays as it is. What somebody else wrote goes through
/// it on its way to a terminal; names are compared as they are.
std::string printable(std::string_view text);
/// The text as one word of a POSIX shell, in single quotes where it needs them.
std::string shellQuoted(std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

}  // namespace msdbg::core
