// Dropout and DropoutGrad. An element's random number depends on its index in the global batch alone
// (philox.h), so the threads draw what the reference draws; factors are applied in double, as there.
#include "core_engine/ops/dropout.h"

#include <algorithm>

#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/runtime/philox.h"

namespace msdbg::core::cpu {
namespace {

constexpr std::int64_t kDrawWork =
    16;  // one random number costs about as much as 16 elements of a plain loop

void keepAll(const KernelArgs& args) {
  std::ranges::fill(args.outputs[1]->data<bool>(), true);
  std::ranges::copy(args.inputs[0]->data<float>(), args.outputs[0]->data<float>().begin());
}

void drop(const KernelArgs& args, double ratio, double scale, int threads) {
  const RandomStream random(args.state.seed, args.node.name, args.state.iteration.value);
  const std::int64_t count = args.inputs[0]->elements(), first = args.state.rank.value * count;
  const float* x = args.inputs[0]->data<float>().data();
  float* y = args.outputs[0]->data<float>().data();
  bool* mask = args.outputs[1]->data<bool>().data();
  parallelRanges(count, 64, threads, count * kDrawWork, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      mask[i] = random.uniform(static_cast<std::uint64_t>(first + i)) >= ratio;
      y[i] = mask[i] ? static_cast<float>(static_cast<double>(x[i]) * scale) : 0.0f;
    }
  });
}

}  // namespace

Backend::Answer dropoutKernel(const CompileRequest& r) {
  const double ratio = dropRatio(r.node.attributes);
  return functionKernel(r, [ratio, threads = r.threads](const KernelArgs& args) -> Status {
    if (args.state.training)
      drop(args, ratio, keptScale(ratio), threads);
    else
      keepAll(args);
    return Ok{};
  });
}

Backend::Answer dropoutGradKernel(const CompileRequest& r) {
  const double scale = keptScale(dropRatio(r.node.attributes));
  return functionKernel(r, [scale, threads = r.threads](const KernelArgs& args) -> Status {
    const float* dy = args.inputs[0]->data<float>().data();
    const bool* mask = args.inputs[1]->data<bool>().data();
    float* dx = args.outputs[0]->data<float>().data();
    parallelElements(args.outputs[0]->elements(), threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        dx[i] = mask[i] ? static_cast<float>(static_cast<double>(dy[i]) * scale) : 0.0f;
    });
    return Ok{};
  });
}

}  // namespace msdbg::core::cpu
