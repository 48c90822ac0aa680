// Copies between a tensor and a regular grid of places in another one: Expand, Slice and their gradients, the
// wider form of Transpose. Any dtype; a row of the grid at a time. Thread-safe.
#pragma once

#include "core_engine/ops/broadcast.h"

namespace msdbg::core {

/// Element `index` of the grid lies at first + sum(index[d] * strides[d]).
struct StridedGrid {
  std::int64_t first = 0;
  std::vector<std::int64_t> strides;
  std::int64_t step() const { return strides.empty() ? 0 : strides.back(); }
};

/// output[i] = input[grid(i)]; the grid has the output's shape.
inline Status readStrided(const KernelArgs& args, const StridedGrid& grid) {
  const Shape& shape = args.outputs[0]->shape();
  visitComputed(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = args.inputs[0]->data<T>().data() + grid.first;
    T* y = args.outputs[0]->data<T>().data();
    forRows(shape, args.state.threads, [&](std::int64_t at, std::int64_t length) {
      const T* from = x + stridedOffset(at, shape.dims(), grid.strides);
      if (grid.step() == 1) {
        std::copy_n(from, length, y + at);
      } else {
        for (std::int64_t i = 0; i < length; ++i) y[at + i] = from[i * grid.step()];
      }
    });
  });
  return Ok{};
}

/// output[grid(i)] = input[i], 0 elsewhere; the grid has the input's shape and reaches no place twice.
inline Status writeStrided(const KernelArgs& args, const StridedGrid& grid) {
  const Shape& shape = args.inputs[0]->shape();
  visitComputed(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = args.inputs[0]->data<T>().data();
    T* y = args.outputs[0]->data<T>().data();
    std::fill_n(y, args.outputs[0]->elements(), T(0));
    forRows(shape, args.state.threads, [&](std::int64_t at, std::int64_t length) {
      T* to = y + grid.first + stridedOffset(at, shape.dims(), grid.strides);
      for (std::int64_t i = 0; i < length; ++i) to[i * grid.step()] = x[at + i];
    });
  });
  return Ok{};
}

}  // namespace msdbg::core
