#include "replay/diff/spread.h"

#include <fmt/format.h>

#include <array>
#include <numeric>

#include "core_engine/base/text.h"
#include "core_engine/tensor/index_text.h"
#include "replay/describe.h"

namespace msdbg::replay {

// Neighbours are the rule: they cost no division.
void SpreadBuilder::add(std::int64_t flatIndex) {
  const std::size_t rank = m_shape.rank();
  if (m_touched.empty())
    for (std::size_t d = 0; d < rank; ++d)
      m_touched.emplace_back(static_cast<std::size_t>(m_shape[d]), false);
  if (m_last >= 0 && flatIndex == m_last + 1) {
    for (std::size_t d = rank; d-- > 0;) {
      if (++m_index[d] < m_shape[d]) break;
      m_index[d] = 0;
    }
  } else {
    m_index = core::indexOf(m_shape, flatIndex);
  }
  m_last = flatIndex;
  for (std::size_t d = 0; d < rank; ++d) m_touched[d][static_cast<std::size_t>(m_index[d])] = true;
}

Spread SpreadBuilder::finish() const {
  Spread spread;
  for (const std::vector<bool>& touched : m_touched) {
    Spread::Dimension d{.size = static_cast<std::int64_t>(touched.size()), .first = -1, .step = 0};
    for (std::int64_t i = 0; i < d.size; ++i) {
      if (!touched[static_cast<std::size_t>(i)]) continue;
      if (d.first < 0)
        d.first = i;
      else
        d.step = std::gcd(d.step, i - d.last);
      d.last = i;
      ++d.count;
    }
    d.step = std::max<std::int64_t>(d.step, 1);
    spread.dimensions.push_back(d);
  }
  return spread;
}

namespace {

// Kernels work in blocks of these sizes, and on what is left by other code.
std::string tailText(const Spread::Dimension& d) {
  for (const std::int64_t block : std::array{64, 32, 16, 8, 4})
    if (d.size % block != 0 && d.size > block && d.first == d.size / block * block)
      return fmt::format(", behind its last whole block of {}", block);
  return "";
}

std::string dimensionText(const Spread::Dimension& d, std::size_t number) {
  if (d.all() || d.count == 0) return "";
  constexpr std::int64_t kFew = 3;  // so many positions may be apart evenly by chance
  if (d.count == 1) {
    const std::string tail = d.first == d.size - 1 ? ", the last" + tailText(d) : "";
    return fmt::format("at {} of dimension {} ({}{})", d.first, number, groupedNumber(d.size), tail);
  }
  const std::string every = d.step > 1 && d.count > kFew ? fmt::format("every {}. ", d.step) : "";
  const std::int64_t span = d.last - d.first + 1;
  if (d.last == d.size - 1 && d.first > 0 && every.empty())
    return fmt::format("in the last {} of dimension {} ({}{})", groupedNumber(span), number,
                       groupedNumber(d.size), tailText(d));
  if (d.first > 0 || d.last < d.size - 1 || !every.empty())
    return fmt::format("at {}{}-{} of dimension {} ({})", every, d.first, d.last, number,
                       groupedNumber(d.size));
  return "";
}

}  // namespace

std::string spreadText(const Spread& spread, std::int64_t different, std::int64_t elements) {
  if (different == 0) return "nowhere";
  if (different == elements) return "everywhere";
  if (different == 1) return "at one place";
  std::vector<std::string> parts;
  for (std::size_t d = 0; d < spread.dimensions.size(); ++d)
    if (const std::string part = dimensionText(spread.dimensions[d], d); !part.empty()) parts.push_back(part);
  return parts.empty() ? "scattered" : "only " + core::join(parts, " and ");
}

}  // namespace msdbg::replay
