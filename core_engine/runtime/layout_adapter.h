// Kernels that know row-major only, between tensors in another layout; and what an observer is shown. Used
// from the training thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core_engine/graph/layout.h"
#include "core_engine/runtime/backend.h"

namespace msdbg::core {

/// Both have the logical shape [N, C, H, W]; one lies row-major, the other in channels of 16.
void toRowMajor(const Tensor& channels16, Tensor& rowMajor, int threads);
void toChannels16(const Tensor& rowMajor, Tensor& channels16, int threads);

/// Row-major places for tensors in other layouts, shared by all kernels of an executor: they run one after
/// another.
class LayoutScratch {
 public:
  /// The i-th place as a float32 tensor of this shape.
  Tensor place(std::size_t i, const Shape& shape);
  std::size_t bytes() const;

 private:
  std::map<std::size_t, Tensor> m_places;  // the largest that was asked for
};

/// The kernel with its blocked tensors (flags by input and output) converted before and after.
std::unique_ptr<KernelImpl> adaptLayouts(std::unique_ptr<KernelImpl> kernel, std::vector<bool> inputs,
                                         std::vector<bool> outputs, std::shared_ptr<LayoutScratch> scratch);

}  // namespace msdbg::core
