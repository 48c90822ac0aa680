// What is scaled to next to nothing and added to something else that a network reads: the data in the noise
// of a diffusion model whose schedule is wrong. A part of batch_content. Used from one thread.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

class DrownedPart {
 public:
  explicit DrownedPart(const core::Graph& graph);
  void add(EvaluationContext& context);
  /// A hint, at the first sum of which one part was never a thousandth of the other.
  void finish(EvaluationContext& context) const;

 private:
  /// Two products of tensors, of one shape, that nothing learnt has a part in.
  struct Sum {
    core::NodeId node;
    core::TensorId parts[2];
    double most[2] = {0, 0};  // of all iterations: its size in that of the other
    std::int64_t iterations = 0;
  };
  std::vector<Sum> m_sums;
  core::Iteration m_begin;
};

}  // namespace msdbg::watch
