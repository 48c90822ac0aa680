#include "app/cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "core_engine/base/text.h"

namespace msdbg::app {

Table::Table(std::vector<std::string> headers) : m_headers(std::move(headers)) {
  for (std::string& header : m_headers) {
    m_right.push_back(header.starts_with('>'));
    if (m_right.back()) header.erase(0, 1);
    m_widths.push_back(displayWidth(header));
  }
}

void Table::row(std::vector<std::string> cells) {
  cells.resize(m_headers.size());
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::string cell = core::printable(cells[c]);
    m_widths[c] = std::max(m_widths[c], displayWidth(cell));
    m_cells += cell;
    m_cellBytes.push_back(static_cast<std::uint32_t>(cell.size()));
  }
}

template <typename Sink>
void Table::lines(int indent, const Sink& sink) const {
  std::string line;
  const auto add = [&](std::size_t column, std::string_view cell) {
    const std::size_t gap = m_widths[column] - displayWidth(cell);
    line.append(column > 0 ? 2 : static_cast<std::size_t>(indent), ' ');
    if (m_right[column]) line.append(gap, ' ');
    line += cell;
    if (!m_right[column]) line.append(gap, ' ');
    if (column + 1 < m_headers.size()) return;
    line.erase(line.find_last_not_of(' ') + 1);
    sink(line += '\n');
    line.clear();
  };
  for (std::size_t c = 0; c < m_headers.size(); ++c) add(c, m_headers[c]);
  std::size_t at = 0;
  for (std::size_t i = 0; i < m_cellBytes.size(); at += m_cellBytes[i++])
    add(i % m_headers.size(), std::string_view(m_cells).substr(at, m_cellBytes[i]));
}

std::string Table::text(int indent) const {
  std::string text;
  lines(indent, [&](const std::string& line) { text += line; });
  return text;
}

void Table::print() const {
  lines(0, [](const std::string& line) { fmt::print("{}", line); });
}

std::size_t displayWidth(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::istringstream words(text);
  std::string out, word;
  std::size_t column = indent;
  while (words >> word) {
    word = core::printable(word);
    if (column > indent && column + 1 + displayWidth(word) > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += " ";
      ++column;
    }
    out += word;
    column += displayWidth(word);
  }
  return out;
}

}  // namespace msdbg::app
