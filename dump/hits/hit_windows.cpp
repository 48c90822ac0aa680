#include "dump/hits/hit_windows.h"

#include <algorithm>
#include <limits>

namespace msdbg::dump {

void HitWindows::finished(core::Iteration iteration, bool hit) {
  const std::lock_guard lock(m_mutex);
  const std::int64_t now = iteration.value;
  if (hit || m_follow > 0) {
    m_follow = hit ? m_after : m_follow - 1;
    decideToKeep(m_open.empty() ? now : m_open.front(), now);
    m_open.clear();
    m_decided = now;
    return;
  }
  m_open.push_back(now);
  if (static_cast<std::int64_t>(m_open.size()) <= m_before) return;
  m_decided = m_open.front();
  m_open.pop_front();
}

// Where nothing was given up in between, one range goes on: a condition that keeps firing makes one of them.
void HitWindows::decideToKeep(std::int64_t first, std::int64_t last) {
  if (!m_kept.empty() && m_kept.back().last == m_decided)
    m_kept.back().last = last;
  else
    m_kept.push_back({first, last});
}

void HitWindows::close() {
  const std::lock_guard lock(m_mutex);
  m_open.clear();
  m_decided = std::numeric_limits<std::int64_t>::max();
}

Keep HitWindows::keep(std::int64_t first, std::int64_t last) const {
  const std::lock_guard lock(m_mutex);
  const auto after = std::ranges::upper_bound(m_kept, last, {}, &Range::first);
  if (after != m_kept.begin() && first <= std::prev(after)->last) return Keep::kYes;
  return last <= m_decided ? Keep::kNo : Keep::kUndecided;
}

}  // namespace msdbg::dump
