// Loops of the element-wise reference kernels. Functions compute in double whatever the tensors' dtype;
// float32 results are rounded once. Each element is computed by one thread alone, so results do not depend on
// the thread count.
#pragma once

#include <cstdint>

#include "core_engine/ops/op.h"

namespace msdbg::core {

/// f(i) for i in [0, count); fewer than `grain` stay on the calling thread.
template <typename F>
void parallelFor(std::int64_t count, int threads, std::int64_t grain, const F& f) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && count >= grain)
  for (std::int64_t i = 0; i < count; ++i) f(i);
}
template <typename F>
void parallelFor(std::int64_t count, int threads, const F& f) {
  parallelFor(count, threads, 4096, f);
}

/// y[i] = f(x[i])
template <typename F>
Status mapUnary(const KernelArgs& args, const F& f) {
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = args.inputs[0]->data<T>();
    const auto y = args.outputs[0]->data<T>();
    parallelFor(args.outputs[0]->elements(), args.state.threads,
                [&](std::int64_t i) { y[i] = static_cast<T>(f(static_cast<double>(x[i]))); });
  });
  return Ok{};
}

/// y[i] = f(a[i], b[i]); all of one shape
template <typename F>
Status mapBinary(const KernelArgs& args, const F& f) {
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto a = args.inputs[0]->data<T>();
    const auto b = args.inputs[1]->data<T>();
    const auto y = args.outputs[0]->data<T>();
    parallelFor(args.outputs[0]->elements(), args.state.threads, [&](std::int64_t i) {
      y[i] = static_cast<T>(f(static_cast<double>(a[i]), static_cast<double>(b[i])));
    });
  });
  return Ok{};
}

}  // namespace msdbg::core
