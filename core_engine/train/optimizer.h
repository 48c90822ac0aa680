// Optimizers as data; the training compiler turns them into update nodes. SGD as in PyTorch:
// g += weight_decay * p;  v = momentum * v + g;  p' = p - lr * v.
#pragma once

#include "core_engine/base/result.h"

namespace msdbg::core {

struct Sgd {
  double lr = 0.01;
  double momentum = 0;
  double weightDecay = 0;
};

}  // namespace msdbg::core
