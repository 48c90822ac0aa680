// Classes of a cross-entropy that are, bit for bit, the tokens that the model reads. Used from one thread.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// Pairs of integers from the batch: what an embedding or one-hot rows read, and the classes of a
/// cross-entropy over what comes of it on a way that does not move it by a place.
class CopiedTargets {
 public:
  explicit CopiedTargets(const core::Graph& graph);
  /// Of each iteration: drops the pairs that differ.
  void add(EvaluationContext& context);
  /// A hint for the first pair that was equal in all iterations, of batches that changed.
  void finish(EvaluationContext& context) const;

 private:
  struct Pair {
    core::TensorId tokens, label;
    std::int64_t iterations = 0;
    core::Hash128 first = {};
    bool changed = false;  // another batch came
  };
  std::vector<Pair> m_pairs;
  core::Iteration m_begin;
};

}  // namespace msdbg::watch
