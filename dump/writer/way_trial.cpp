#include "dump/writer/way_trial.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace msdbg::dump {

std::string ChosenWay::text() const {
  switch (because) {
    case Because::kNoOther:
      return way.text();
    case Because::kThoughtBest:
      return way.text() + " (others not tried yet)";
    case Because::kTrying:
      return way.text() + " (still being tried)";
    case Because::kFastest:
      return way.text() + " (found fastest)";
  }
  return way.text();
}

WayTrial::WayTrial(std::vector<WritingWay> ways, Pace pace)
    : m_ways(std::move(ways)), m_pace(pace), m_best(m_ways.size(), std::numeric_limits<double>::infinity()) {
  assert(!m_ways.empty());
}

ChosenWay WayTrial::chosen() const {
  using enum ChosenWay::Because;
  if (m_ways.size() == 1) return {way(), kNoOther};
  return {way(), m_round == kNotYet ? kThoughtBest : m_round < kRounds ? kTrying : kFastest};
}

bool WayTrial::mayCopy() const {
  const bool trying = m_round != kNotYet && m_round < kRounds;
  return trying ? std::ranges::any_of(m_ways, [](const WritingWay& w) { return !w.inTeam; }) : !way().inTeam;
}

const WritingWay& WayTrial::next(Clock::duration last, bool stored) {
  if (m_ways.size() == 1 || !stored) return way();
  m_turn += last;
  if (m_round == kNotYet || m_round == kRounds) {
    if (m_turn >= (m_round == kNotYet ? m_pace.before : m_pace.valid)) begin();
    return way();
  }
  if (++m_iterations > m_pace.skipped) m_counted += last;
  if (m_iterations >= m_pace.iterations && m_turn >= m_pace.turn) endTurn();
  return way();
}

void WayTrial::begin() {
  m_best.assign(m_ways.size(), std::numeric_limits<double>::infinity());
  m_now = 0;
  m_round = m_iterations = 0;
  m_turn = m_counted = {};
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
