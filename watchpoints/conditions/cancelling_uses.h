// Gradients of a matrix whose uses always cancel to the last bit: a ratio of a policy to itself. A part of
// tensor_all_zero. Used from one thread.
#pragma once

#include <map>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// Gradients of several uses, none of them zero, so that nothing is cut off. They may cancel once, as of two
/// branches of equal weights whose difference is taken, and those of a bias that a difference takes out
/// always do: said at the end, of a matrix of which they always did.
class CancellingUses {
 public:
  /// A gradient that is all zero in this iteration, and was never anything else.
  void look(EvaluationContext& context, const Place& place);
  /// It is not zero any more.
  void moved(const Place& place) { m_seen.erase({place.rank, place.tensor}); }
  void finish(EvaluationContext& context);

 private:
  struct Seen {
    int iterations = 0;
    Finding finding;  // of the first
  };
  std::map<std::pair<core::Rank, core::TensorId>, Seen> m_seen;
};

}  // namespace msdbg::watch
