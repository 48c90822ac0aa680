#include "watchpoints/engine/walk.h"

#include <algorithm>

namespace msdbg::watch {

IterationWalk::IterationWalk(const Source& source, std::vector<core::Rank> ranks,
                             const std::function<bool(core::Iteration)>& selected)
    : m_ranks(std::move(ranks)) {
  const auto chosen = [&](core::Rank rank) {
    std::vector<core::Iteration> iterations = source.iterations(rank);
    std::erase_if(iterations, [&](core::Iteration k) { return !selected(k); });
    return iterations;
  };
  for (const core::Rank rank : m_ranks) m_cursors.push_back({chosen(rank)});
  // Conditions across ranks are asked of every iteration that any rank recorded.
  for (const core::Rank rank : source.ranks()) {
    const std::vector<core::Iteration> own = chosen(rank);
    m_iterations.insert(m_iterations.end(), own.begin(), own.end());
    std::ranges::inplace_merge(m_iterations, m_iterations.end() - static_cast<std::ptrdiff_t>(own.size()));
    const auto repeated = std::ranges::unique(m_iterations);
    m_iterations.erase(repeated.begin(), repeated.end());
  }
}

void IterationWalk::advance() {
  m_iteration = m_iterations[m_next++];
  m_here.clear();
  for (std::size_t i = 0; i < m_ranks.size(); ++i) {
    Cursor& cursor = m_cursors[i];
    if (cursor.next == cursor.iterations.size() || cursor.iterations[cursor.next] != m_iteration) continue;
    m_here.push_back(m_ranks[i]);
    ++cursor.next;
  }
}

double IterationWalk::share() const {
  return m_iterations.empty() ? 1 : static_cast<double>(m_next) / static_cast<double>(m_iterations.size());
}

}  // namespace msdbg::watch
