// IterationSet: numbers of iterations as the ranges that they make, so that a line of the journal that names
// a million of them takes no more room than one that names two. Reads like an ascending list of numbers.
// Value type; as thread-safe as a vector.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/base/text.h"

namespace msdbg::core {

class IterationSet {
 public:
  using Range = IndexList::Range;  // both ends included

  IterationSet() = default;
  IterationSet(std::initializer_list<std::int64_t> numbers) { add(numbers); }
  // Not explicit: a set stands wherever a list of iterations does.
  IterationSet(const std::vector<std::int64_t>& numbers) { add(numbers); }
  /// Of a text such as "5-9,12". nullopt: it is none, has no end, or names more than `most` numbers.
  static std::optional<IterationSet> parse(std::string_view text, std::uint64_t most);

  void push_back(std::int64_t number) { add(Range{number, number}); }
  /// In any order; ranges that meet become one. Behind the last one is the cheap place.
  void add(Range range);
  void append(const IterationSet& more) {
    for (const Range& range : more.m_ranges) add(range);
  }

  bool empty() const { return m_ranges.empty(); }
  std::size_t size() const { return m_size; }  // so many numbers
  std::int64_t front() const { return m_ranges.front().first; }
  std::int64_t back() const { return m_ranges.back().last; }
  bool contains(std::int64_t number) const;
  bool contains(const IterationSet& other) const;
  const std::vector<Range>& ranges() const { return m_ranges; }
  std::vector<std::int64_t> numbers() const { return {begin(), end()}; }
  std::string text() const;  // "5-9,12"

  /// From the first number to the last.
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::int64_t;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::int64_t*;
    using reference = std::int64_t;
    Iterator() = default;
    Iterator(const Range* range, const Range* end)
        : m_range(range), m_end(end), m_number(range == end ? 0 : range->first) {}
    std::int64_t operator*() const { return m_number; }
    Iterator& operator++() {
      if (m_number == m_range->last)
        *this = Iterator(m_range + 1, m_end);
      else
        ++m_number;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Range* m_range = nullptr;
    const Range* m_end = nullptr;
    std::int64_t m_number = 0;
  };
  Iterator begin() const { return {m_ranges.data(), m_ranges.data() + m_ranges.size()}; }
  Iterator end() const { return {m_ranges.data() + m_ranges.size(), m_ranges.data() + m_ranges.size()}; }

  friend bool operator==(const IterationSet& a, const IterationSet& b) {
    return std::ranges::equal(a.m_ranges, b.m_ranges, [](const Range& x, const Range& y) {
      return x.first == y.first && x.last == y.last;
    });
  }

 private:
  template <typename Numbers>
  void add(const Numbers& numbers) {
    for (const std::int64_t number : numbers) push_back(number);
  }
  std::vector<Range> m_ranges;  // ascending; none touches the next
  std::size_t m_size = 0;
};

}  // namespace msdbg::core
