#include "app/cli/tensor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>

#include "replay/inspect.h"

namespace msdbg::app {

using core::Tensor;

namespace {

constexpr std::int64_t kAbbreviateAbove = 1000, kEdge = 3;
constexpr std::size_t kLineWidth = 100;

// Formats elements; all cells of one tensor get the same width.
class Cells {
 public:
  Cells(const Tensor& tensor, bool abbreviate) : m_tensor(tensor), m_abbreviate(abbreviate) {
    visit([this](std::int64_t index) { m_width = std::max(m_width, text(index).size()); });
  }

  std::string cell(std::int64_t index) const { return fmt::format("{:>{}}", text(index), m_width); }
  std::size_t width() const { return m_width; }

  /// f(i) for the shown positions of a dimension, skip() where some are left out.
  template <typename F, typename Skip>
  void along(std::int64_t size, F&& f, Skip&& skip) const {
    const bool cut = m_abbreviate && size > 2 * kEdge;
    for (std::int64_t i = 0; i < size; ++i) {
      if (cut && i == kEdge) {
        skip();
        i = size - kEdge;
      }
      f(i);
    }
  }

 private:
  std::string text(std::int64_t index) const { return replay::elementText(m_tensor, index); }

  template <typename F>
  void visit(F&& f, std::size_t dimension = 0, std::int64_t offset = 0) const {
    if (dimension == m_tensor.shape().rank()) return f(offset);
    along(
        m_tensor.shape()[dimension],
        [&](std::int64_t i) { visit(f, dimension + 1, offset * m_tensor.shape()[dimension] + i); }, [] {});
  }

  const Tensor& m_tensor;
  bool m_abbreviate;
  std::size_t m_width = 0;
};

class Writer {
 public:
  Writer(const Tensor& tensor, int indent)
      : m_tensor(tensor), m_cells(tensor, tensor.elements() > kAbbreviateAbove), m_indent(indent) {}

  std::string write() {
    m_out = std::string(static_cast<std::size_t>(m_indent), ' ');
    if (m_tensor.shape().rank() == 0)
      m_out += m_cells.cell(0);
    else
      dimension(0, 0);
    return m_out + "\n";
  }

 private:
  void dimension(std::size_t d, std::int64_t offset) {
    const std::int64_t size = m_tensor.shape()[d];
    const bool last = d + 1 == m_tensor.shape().rank();
    m_out += "[";
    bool first = true;
    std::size_t column = 0;
    const auto gap = [&](std::size_t needed) {
      if (!first && last) m_out += " ", ++column;
      if (!first && (!last || column + needed > kLineWidth)) newLine(d, last ? 1 : rankBelow(d)), column = 0;
      first = false;
      column += needed;
    };
    m_cells.along(
        size,
        [&](std::int64_t i) {
          gap(m_cells.width());
          if (last)
            m_out += m_cells.cell(offset * size + i);
          else
            dimension(d + 1, offset * size + i);
        },
        [&] {
          gap(3);
          m_out += "...";
        });
    m_out += "]";
  }

  // A blank line between matrices, none between rows.
  std::size_t rankBelow(std::size_t d) const { return d + 2 < m_tensor.shape().rank() ? 2 : 1; }

  void newLine(std::size_t d, std::size_t lines) {
    while (!m_out.empty() && m_out.back() == ' ') m_out.pop_back();
    m_out += std::string(lines, '\n') + std::string(static_cast<std::size_t>(m_indent) + d + 1, ' ');
  }

  const Tensor& m_tensor;
  Cells m_cells;
  int m_indent;
  std::string m_out;
};

Json elementJson(const Tensor& tensor, std::int64_t offset) {
  return core::visitDType(tensor.dtype(), [&](auto type) -> Json {
    using T = decltype(type);
    if constexpr (std::same_as<T, bool>) return tensor.at(offset) != 0;
    const T value = tensor.data<T>()[static_cast<std::size_t>(offset)];
    if constexpr (std::integral<T>)
      return value;
    else if constexpr (core::ComplexNumber<T>)
      return {{"real", number(value.real)}, {"imag", number(value.imag)}};
    else
      return number(core::toDouble(value));
  });
}

Json elementsJson(const Tensor& tensor, std::size_t dimension, std::int64_t offset) {
  if (dimension == tensor.shape().rank()) {
    return elementJson(tensor, offset);
  }
  Json list = Json::array();
  for (std::int64_t i = 0; i < tensor.shape()[dimension]; ++i)
    list.push_back(elementsJson(tensor, dimension + 1, offset * tensor.shape()[dimension] + i));
  return list;
}

}  // namespace

std::string tensorText(const Tensor& tensor, int indent) { return Writer(tensor, indent).write(); }
Json tensorJson(const Tensor& tensor) { return elementsJson(tensor, 0, 0); }

}  // namespace msdbg::app
