// Verdict: what a check says of a run in one sentence. What was found, what could not be read and how the run
// ended are always said together: "no fault found" alone would be believed of a run of which half is lost.
// Pure functions; the same words in every face.
#pragma once

#include <optional>
#include <string>

#include "replay/run_state.h"
#include "watchpoints/check.h"

namespace msdbg::replay {

struct Verdict {
  enum class Kind { kFault, kNoFault, kNoAnswer };
  Kind kind = Kind::kNoAnswer;
  /// The run came to its end, was recorded without gaps, and everything that was asked could be read: only
  /// then is kNoFault good news.
  bool whole = false;
  std::string found;  // "no fault found", "no fault found in what could be read", "FIRST WRONG"
  /// Where no fault was found, what is worth a look: "The answer is seen, and 2 more"; "" when nothing is.
  std::string hints;
  /// "3 of 60 segments are damaged; iterations 127-340 of rank 0 were not recorded"; "" when nothing is
  /// missing
  std::string unread;
  std::string ended;  // "the run was killed at iteration 4,120"

  std::string state() const { return unread.empty() ? ended : unread + "; " + ended; }
  std::string answer() const { return hints.empty() ? found : found + "; worth a look: " + hints; }
  std::string text() const { return answer() + "; " + state(); }
};
/// `lastLoss`: of the run, where it has one; that is no number is no good news, whatever was asked.
Verdict verdictOf(const watch::CheckReport& report, const RunState& state,
                  std::optional<double> lastLoss = std::nullopt);

/// "fault", "no_fault", "no_answer"
std::string kindName(Verdict::Kind kind);
/// Of a report in which no question was answered: the most common reason.
std::string whyNothingJudged(const watch::CheckReport& report);

}  // namespace msdbg::replay
