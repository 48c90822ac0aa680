// Data that are not finite where they enter the graph, in a recording of which only some iterations hold the
// operators: what makes the data is seen there, when it is the program's own doing. Used from one thread.
#pragma once

#include <map>
#include <vector>

#include "watchpoints/condition.h"

namespace msdbg::watch {

class DataOrigins {
 public:
  /// Of what was found in this iteration, from `first` on: findings of data are held back where the graph has
  /// operators that this iteration did not record.
  void hold(EvaluationContext& context, std::size_t first);
  /// They come out. The first of each rank names the first operator that made NaN or Inf of finite inputs in
  /// a later iteration that recorded operators, and in which that tensor is computed, not given.
  void finish(EvaluationContext& context);

 private:
  struct Rank {
    std::vector<Finding> held;
    std::vector<Finding> origin;  // none or one
  };
  std::map<core::Rank, Rank> m_ranks;
};

}  // namespace msdbg::watch
