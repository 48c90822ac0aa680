#include "app/cli/unified_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace msdbg::app {
namespace {

constexpr std::size_t kContext = 3;

using Lines = std::vector<std::string_view>;

Lines linesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// A line of the result: ' ' in both texts, '-' or '+' in one.
struct Edit {
  char sign;
  std::string_view line;
};

/// The longest common subsequence of what lies between the equal beginnings and ends.
std::vector<Edit> editsBetween(const Lines& a, const Lines& b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::uint32_t> common((a.size() + 1) * columns, 0);  // of the rests from i and j on
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      common[i * columns + j] = a[i] == b[j]
                                    ? common[(i + 1) * columns + j + 1] + 1
                                    : std::max(common[(i + 1) * columns + j], common[i * columns + j + 1]);
  std::vector<Edit> edits;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      edits.push_back({' ', a[i]}), ++i, ++j;
    } else if (i < a.size() &&
               (j == b.size() || common[(i + 1) * columns + j] >= common[i * columns + j + 1])) {
      edits.push_back({'-', a[i++]});
    } else {
      edits.push_back({'+', b[j++]});
    }
  }
  return edits;
}

std::vector<Edit> editsOf(Lines a, Lines b) {
  std::vector<Edit> edits, tail;
  const auto [endA, endB] = std::ranges::mismatch(a, b);
  for (auto line = a.begin(); line != endA; ++line) edits.push_back({' ', *line});
  a.erase(a.begin(), endA), b.erase(b.begin(), endB);
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    tail.push_back({' ', a.back()});
    a.pop_back(), b.pop_back();
  }
  for (const Edit& edit : editsBetween(a, b)) edits.push_back(edit);
  edits.insert(edits.end(), tail.rbegin(), tail.rend());
  return edits;
}

/// The end of the hunk that begins at `begin`: where more than twice the context follows unchanged.
std::size_t hunkEnd(const std::vector<Edit>& edits, std::size_t begin) {
  std::size_t end = begin, last = begin;
  for (; end < edits.size() && end <= last + 2 * kContext + 1; ++end)
    if (edits[end].sign != ' ') last = end;
  return std::min(edits.size(), last + kContext + 1);
}

/// "12,5" or "12": where a hunk begins in a text, 1-based, and how many of its lines it holds.
std::string range(std::size_t before, std::size_t count) {
  const std::size_t first = count == 0 ? before : before + 1;
  return count == 1 ? fmt::format("{}", first) : fmt::format("{},{}", first, count);
}

}  // namespace

std::string unifiedDiff(std::string_view before, std::string_view after, std::string_view nameBefore,
                        std::string_view nameAfter) {
  const std::vector<Edit> edits = editsOf(linesOf(before), linesOf(after));
  const auto countOf = [&](std::size_t from, std::size_t to, char other) {
    return static_cast<std::size_t>(std::count_if(edits.begin() + static_cast<std::ptrdiff_t>(from),
                                                  edits.begin() + static_cast<std::ptrdiff_t>(to),
                                                  [&](const Edit& edit) { return edit.sign != other; }));
  };
  std::string text;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].sign == ' ') continue;
    const std::size_t begin = i - std::min(i, kContext), end = hunkEnd(edits, i);
    text += fmt::format("@@ -{} +{} @@\n", range(countOf(0, begin, '+'), countOf(begin, end, '+')),
                        range(countOf(0, begin, '-'), countOf(begin, end, '-')));
    for (std::size_t line = begin; line < end; ++line)
      text += fmt::format("{}{}\n", edits[line].sign, edits[line].line);
    i = end - 1;
  }
  return text.empty() ? text : fmt::format("--- {}\n+++ {}\n", nameBefore, nameAfter) + text;
}

}  // namespace msdbg::app
