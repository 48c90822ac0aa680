// Parameters that get a gradient and that no optimizer was given, as only programs of other frameworks can
// have them. From the graph and the rows of one iteration. Used from one thread.
#pragma once

#include <string>
#include <vector>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

struct LeftOut {
  std::vector<core::TensorId> parameters;  // of one root module ("Net"), in order
  core::NodeId reader;                     // the first that reads the first of them
  core::TensorId optimizer;  // the rate of the one that should have them: its line is where it was made
  /// What is left out on purpose comes before what is trained (a backbone under a new head), or was trained
  /// before: else this is a mistake.
  bool mistake = false;
  std::string sentence;
};

/// One for each root module; none where nothing is trained, or where a single iteration was recorded.
std::vector<LeftOut> leftOutParameters(EvaluationContext& context);

}  // namespace msdbg::watch
