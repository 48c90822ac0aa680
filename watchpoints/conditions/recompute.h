// Computes a node again from recorded inputs with the operator's reference kernel. Used from one thread.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// One output of the node on this rank. kUnavailable: an input is not stored, or the operator has no
/// reference kernel.
core::Result<core::Tensor> recomputeOutput(Source& source, const Place& place);

/// Where the bytes of two tensors of one shape and dtype differ.
struct Difference {
  std::int64_t first = 0, count = 0;  // flat index of the first; how many
};
std::optional<Difference> firstDifference(const core::Tensor& a, const core::Tensor& b);

}  // namespace msdbg::watch
