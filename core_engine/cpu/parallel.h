// Sharing a loop among OpenMP threads. Which thread gets which part never changes a result: kernels compute
// an element (or a fixed block) the same way wherever their part begins. Called from the training thread
// only.
#pragma once

#include <algorithm>
#include <cstdint>

namespace msdbg::core::cpu {

/// Loops over less work than this (in elements touched) are faster on one thread.
constexpr std::int64_t kParallelWork = 32 * 1024;

/// f(begin, end) for parts of [0, count), their bounds multiples of `grain`, on `threads` threads if `work`
/// is enough.
template <typename F>
void parallelRanges(std::int64_t count, std::int64_t grain, int threads, std::int64_t work, const F& f) {
  if (threads <= 1 || work < kParallelWork || count <= grain) {
    f(std::int64_t{0}, count);
    return;
  }
  const std::int64_t grains = (count + grain - 1) / grain;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int t = 0; t < threads; ++t) {
    const std::int64_t begin = grains * t / threads * grain,
                       end = std::min(grains * (t + 1) / threads * grain, count);
    if (begin < end) f(begin, end);
  }
}

/// The same for element-wise loops over float32: parts are whole cache lines.
template <typename F>
void parallelElements(std::int64_t count, int threads, const F& f) {
  parallelRanges(count, 16, threads, count, f);
}

}  // namespace msdbg::core::cpu
