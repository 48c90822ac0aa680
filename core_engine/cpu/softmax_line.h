// One line of LogSoftmax, which SoftmaxCrossEntropyLoss uses too. Thread-safe; the caller owns the memory.
#pragma once

#include <cstdint>

namespace msdbg::core::cpu {

/// y = x - log(sum(exp(x))), shifted by the maximum; n >= 1; y must not overlap x.
void logSoftmaxLine(const float* x, float* y, std::int64_t n);

}  // namespace msdbg::core::cpu
