// Table: columns of text, aligned, for people; also of a hundred thousand rows. Value type. Its cells and
// what wrapped() is given may come from anybody: a terminal only shows them (core::printable).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/describe.h"

namespace msdbg::app {

class Table {
 public:
  /// A header that starts with '>' makes a right-aligned column (numbers).
  explicit Table(std::vector<std::string> headers);
  void row(std::vector<std::string> cells);  // missing cells are empty
  bool empty() const { return m_cellBytes.empty(); }
  std::string text(int indent = 0) const;
  void print() const;  // the same to stdout, line by line: a long table is in memory once

 private:
  template <typename Sink>
  void lines(int indent, const Sink& sink) const;

  std::vector<std::string> m_headers;
  std::vector<bool> m_right;
  std::vector<std::size_t> m_widths;
  std::string m_cells;  // one after the other
  std::vector<std::uint32_t> m_cellBytes;
};

/// Columns that the text takes on a terminal (UTF-8 characters, all of width 1).
std::size_t displayWidth(std::string_view text);
using replay::counted;
using replay::groupedNumber;
/// The text in lines of at most `width`, every line but the first indented.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width = 100);

}  // namespace msdbg::app
