// Which rank is wrong where a replicated tensor differs between ranks: from the majority, from recomputation,
// or from what the statistics make likely. Used from one thread.
#pragma once

#include "watchpoints/conditions/recompute.h"

namespace msdbg::watch {

/// A tensor that differs although the inputs that should agree do.
struct Divergent {
  core::Iteration iteration;
  core::TensorId tensor;
  std::vector<std::pair<core::Rank, core::Hash128>> hashes;  // two ranks or more, ascending
  core::TensorId hyperparameter = {};  // an input that differs too (the learning rate); invalid if none
  core::TensorId alone = {};           // an input that only `aloneOn` computes; invalid if none
  std::vector<core::Rank> aloneOn = {};
};

struct Verdict {
  std::vector<core::Rank> wrong;         // empty: it cannot be told
  std::string reason;                    // "does not hold the rank-ordered sum of the recorded inputs"
  std::optional<core::Tensor> expected;  // what the first of them should hold, where recomputed
};

Verdict findWrongRanks(EvaluationContext& context, const Divergent& divergent);

}  // namespace msdbg::watch
