// How the loss of a run went, from its first iteration to its last: what a check that finds nothing says
// besides, so that nobody takes "no fault" for "it learns".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "replay/run.h"

namespace msdbg::replay {

struct LossCourse {
  double first = 0, last = 0;          // of one iteration each; mean over the ranks that recorded it
  double firstMean = 0, lastMean = 0;  // over `window` iterations at each end
  std::int64_t window = 1;
  std::int64_t iterations = 0;  // recorded, of the first rank
  std::int64_t classes = 0;     // of a cross-entropy; 0: the loss is another
  /// Where training came to the loss that it ends with (a student after its teacher): that one alone is
  /// looked at. Invalid: from the first iteration on.
  core::Iteration since;
  /// What guessing one of the classes costs.
  std::optional<double> guessing() const;
  /// "loss 2.31 -> 2.30 in 120 iterations (means of 6 at each end); guessing one of 10 classes costs 2.303",
  /// "… in 12 iterations, from iteration 30 on"
  std::string text() const;
};
/// The loss of an iteration: the first one, or, where training went on with another, the first of those.
std::optional<double> lossAt(Run& run, core::Rank rank, core::Iteration iteration);
/// Of the last iteration that has one: an incomplete one has none.
std::optional<double> lastLoss(Run& run, core::Rank rank);
/// nullopt: no loss is recorded.
std::optional<LossCourse> lossCourseOf(Run& run);

}  // namespace msdbg::replay
