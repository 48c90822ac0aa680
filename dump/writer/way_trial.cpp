#include "dump/writer/way_trial.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace msdbg::dump {

std::string WritingWay::text() const {
  return std::string(inTeam ? "training's threads" : "a thread of its own") +
         (direct ? ", past the page cache" : ", page cache");
}

WayTrial::WayTrial(std::vector<WritingWay> ways, Pace pace)
    : m_ways(std::move(ways)), m_pace(pace), m_best(m_ways.size(), std::numeric_limits<double>::infinity()) {
  assert(!m_ways.empty());
  if (m_ways.size() == 1) m_round = kRounds;
}

bool WayTrial::mayCopy() const {
  return m_round < kRounds ? std::ranges::any_of(m_ways, [](const WritingWay& w) { return !w.inTeam; })
                           : !way().inTeam;
}

const WritingWay& WayTrial::next(Clock::duration last, bool stored) {
  if (m_ways.size() == 1 || !stored) return way();
  m_turn += last;
  if (m_round == kRounds) {
    if (m_turn < m_pace.valid) return way();
    m_best.assign(m_ways.size(), std::numeric_limits<double>::infinity());
    m_now = 0;
    m_round = m_iterations = 0;
    m_turn = m_counted = {};
    return way();
  }
  if (++m_iterations > m_pace.skipped) m_counted += last;
  if (m_iterations >= m_pace.iterations && m_turn >= m_pace.turn) endTurn();
  return way();
}

void WayTrial::endTurn() {
  const double seconds = std::chrono::duration<double>(m_counted).count() / (m_iterations - m_pace.skipped);
  m_best[m_now] = std::min(m_best[m_now], seconds);
  m_iterations = 0;
  m_turn = m_counted = {};
  if (++m_now < m_ways.size()) return;
  m_now = 0;
  if (++m_round < kRounds) return;
  m_now = static_cast<std::size_t>(std::ranges::min_element(m_best) - m_best.begin());
}

}  // namespace msdbg::dump
