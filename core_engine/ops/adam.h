// What one step of AdamUpdate computes from its attributes and scalars before it walks the elements: shared
// by the reference and the fast kernel, so that both give the same bits. Pure functions.
#pragma once

#include "core_engine/ops/op.h"

namespace msdbg::core {

struct AdamStep {
  double beta1, beta2, epsilon;
  double decay;           // added to the gradient, times p; 0 when decoupled
  double keep;            // what p is scaled by before the step; 1 unless decoupled
  double rate;            // learning rate / (1 - beta1^t)
  double rootCorrection;  // sqrt(1 - beta2^t)
};

/// Reads inputs 2 (learning rate) and 5 (steps done so far).
AdamStep adamStep(const KernelArgs& args);

}  // namespace msdbg::core
