// What the last bit of a node's inputs makes of its output: the measure of what rounding alone can do there.
// The operator's reference kernel computes it from recorded inputs. Used from the run's thread.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "replay/run.h"

namespace msdbg::replay {

struct LastBit {
  /// The largest change of an element of the output when every floating element of the inputs that is
  /// neither zero nor non-finite goes to the next number above or below it (drawn by Philox, keyed by the
  /// input's name).
  double ofOne = 0;
  /// The largest change when the node reads the other side's inputs instead; nullopt: they were not given.
  std::optional<double> propagated;
};

/// What a node reads on the other side, by number of its input; nullopt: the same, or not known.
using OtherInput = std::function<std::optional<core::Tensor>(std::size_t input)>;

class LastBits {
 public:
  LastBits(Run& run, core::CancelToken cancel) : m_run(run), m_cancel(std::move(cancel)) {}

  /// Of each output of the node. kUnavailable, in words: it has no reference kernel (collectives), or an
  /// input has no value. The last node that was asked for is kept.
  core::Result<std::vector<LastBit>> of(core::Rank rank, core::Iteration iteration, core::NodeId node,
                                        const OtherInput& other);

 private:
  using Tensors = std::vector<core::Tensor>;
  core::Result<Tensors> compute(const core::Node& node, const Tensors& inputs);
  core::Result<std::vector<LastBit>> make(const core::Node& node, const OtherInput& other);

  Run& m_run;
  core::CancelToken m_cancel;
  core::Rank m_rank;
  core::Iteration m_iteration;
  core::NodeId m_node;
  std::optional<core::Result<std::vector<LastBit>>> m_last;
};

}  // namespace msdbg::replay
