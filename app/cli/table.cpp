#include "app/cli/table.h"

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "core_engine/base/text.h"

namespace msdbg::app {

Table::Table(std::vector<std::string> headers) : m_headers(std::move(headers)) {
  for (std::string& header : m_headers) {
    m_right.push_back(header.starts_with('>'));
    if (m_right.back()) header.erase(0, 1);
  }
}

void Table::row(std::vector<std::string> cells) {
  cells.resize(m_headers.size());
  for (std::string& cell : cells) cell = core::printable(cell);
  m_rows.push_back(std::move(cells));
}

std::string Table::text(int indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < m_headers.size(); ++c) {
    widths.push_back(displayWidth(m_headers[c]));
    for (const auto& cells : m_rows) widths[c] = std::max(widths[c], displayWidth(cells[c]));
  }
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out(static_cast<std::size_t>(indent), ' ');
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string gap(widths[c] - displayWidth(cells[c]), ' ');
      out += (c ? "  " : "") + (m_right[c] ? gap + cells[c] : cells[c] + gap);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  };
  line(m_headers);
  for (const auto& cells : m_rows) line(cells);
  return text;
}

std::size_t displayWidth(const std::string& text) {
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
