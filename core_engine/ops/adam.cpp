#include "core_engine/ops/adam.h"

#include <cmath>

namespace msdbg::core {
namespace {

/// beta^t by squaring: the same bits whatever the mathematical library.
double power(double beta, std::int64_t t) {
  double result = 1;
  for (; t > 0; t /= 2, beta *= beta)
    if (t % 2 == 1) result *= beta;
  return result;
}

}  // namespace

AdamStep adamStep(const KernelArgs& args) {
  const Attributes& a = args.node.attributes;
  const double rate = args.inputs[2]->at(0) * floatAttribute(a, "lr_factor", 1),
               decay = floatAttribute(a, "weight_decay", 0);
  const bool decoupled = intAttribute(a, "decoupled", 0) != 0;
  const auto done = static_cast<std::uint64_t>(args.inputs[5]->data<std::int64_t>()[0]);
  const auto t = static_cast<std::int64_t>(done + 1);  // a damaged count may be anything
  AdamStep s;
  s.beta1 = floatAttribute(a, "beta1", 0.9);
  s.beta2 = floatAttribute(a, "beta2", 0.999);
  s.epsilon = floatAttribute(a, "epsilon", 1e-8);
  s.decay = decoupled ? 0 : decay;
  s.keep = decoupled ? 1 - rate * decay : 1;
  s.rate = rate / (1 - power(s.beta1, t));
  s.rootCorrection = std::sqrt(1 - power(s.beta2, t));
  return s;
}

}  // namespace msdbg::core
