// float16 and bfloat16: no kernel knows them. A node that has such tensors is computed in float32 by the
// kernel that it would have there, and each element of its outputs is rounded once: what a GPU does with
// products whose sums it keeps in float32. Used from the training thread.
#pragma once

#include <memory>

#include "core_engine/graph/graph.h"
#include "core_engine/runtime/backend.h"
#include "core_engine/runtime/layout_adapter.h"

namespace msdbg::core {

bool hasRounded(const Graph& graph, const Node& node);
/// The same graph with float32 in place of each dtype that is rounded to: what backends compile.
Graph widened(const Graph& graph);

/// `kernel`: of the node of `wide`, which it may point to.
std::unique_ptr<KernelImpl> rounding(std::unique_ptr<KernelImpl> kernel, std::shared_ptr<const Graph> wide,
                                     std::shared_ptr<LayoutScratch> scratch);

}  // namespace msdbg::core
