// WayTrial: which way large values are written fastest, found by writing them each way in turns while
// training goes on. What decides is how long iterations take, since a thread that writes beside a full team
// slows the team by more than its share, and a disk that lags behind stops training (dump/PERFORMANCE.md).
// What is recorded does not depend on it. Training thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "dump/policy/writing_way.h"

namespace msdbg::dump {

/// A way, and why that one.
struct ChosenWay {
  enum class Because { kNoOther, kThoughtBest, kTrying, kFastest };
  WritingWay way;
  Because because = Because::kNoOther;
  std::string text() const;  // "training's threads, page cache (found fastest)"
};

class WayTrial {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kRounds = 2;
  struct Pace {
    Clock::duration before = std::chrono::minutes(1);  // with the first way: a short run pays for no trial
    int iterations = 8, skipped = 2;                   // of a turn, at least; its first ones are not counted
    Clock::duration turn = std::chrono::seconds(1);    // at least: a segment is committed in it
    Clock::duration valid = std::chrono::hours(1);     // then once more
  };

  /// The first is what is thought best. With one alone nothing is tried.
  WayTrial(std::vector<WritingWay> ways, Pace pace);
  const WritingWay& way() const { return m_ways[m_now]; }
  ChosenWay chosen() const;
  /// Whether a way is in use, or may be next, that copies.
  bool mayCopy() const;
  /// Before an iteration: the last one took so long, and stored large values or did not. Says the way of this
  /// one.
  const WritingWay& next(Clock::duration last, bool stored);

 private:
  static constexpr int kNotYet = -1;
  void begin();
  void endTurn();

  std::vector<WritingWay> m_ways;
  Pace m_pace;
  std::vector<double>
      m_best;  // by way: seconds of an iteration, in the better round; infinity: not tried yet
  std::size_t m_now = 0;
  int m_round = kNotYet;        // kRounds: decided
  int m_iterations = 0;         // of the turn
  Clock::duration m_counted{};  // of those that are
  Clock::duration m_turn{};     // of all; before the trial and once it is decided, since then
};

}  // namespace msdbg::dump
