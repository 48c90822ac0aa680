#include "watchpoints/conditions/initial_size.h"

#include <algorithm>
#include <cmath>

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

/// A table [words, width] that is turned round and multiplied with: tied to the embedding.
static bool isTurnedToLogits(const core::Graph& graph, const core::Node& node) {
  return node.phase == core::Phase::kForward && node.opType == "Transpose" &&
         std::ranges::any_of(graph.consumers(node.outputs.front()), [&](core::NodeId user) {
           const core::Node& product = graph.node(user);
           return product.phase == core::Phase::kForward && product.opType == "MatMul" &&
                  product.inputs[1] == node.outputs.front();
         });
}

double fanInOf(const core::Graph& graph, core::TensorId weight) {
  const core::Shape& shape = graph.tensor(weight).shape;
  if (shape.rank() < 2 || !shape.known() || shape[0] == 0) return 0;
  for (const auto& [reader, read] : forwardReaders(graph, weight)) {
    const core::Node& node = *reader;
    if (isTurnedToLogits(graph, node)) return static_cast<double>(shape[1]);
    if (node.inputs.size() < 2 || node.inputs[1] != read) continue;
    if (node.opType == "Conv") return static_cast<double>(shape.elements() / shape[0]);
    if (node.opType == "Gemm" && core::intAttribute(node.attributes, "transB", 0) != 0)
      return static_cast<double>(shape[1]);
    if (node.opType == "Gemm" || node.opType == "MatMul") return static_cast<double>(shape[shape.rank() - 2]);
  }
  return 0;
}

bool mayBeAsDrawn(const core::TensorStatistics& values) {
  constexpr double kErrors = 5;
  if (values.nonFinite() > 0 || values.std == 0) return values.nonFinite() == 0;
  const double n = static_cast<double>(values.count), root = std::sqrt(n);
  if (std::abs(values.mean) > kErrors * values.std / root) return false;
  const double ratio = values.meanAbs / values.std, most = std::max(-values.min, values.max) / values.std;
  const bool uniform = std::abs(ratio - std::sqrt(3.0) / 2) < kErrors * 0.13 / root &&
                       most < std::sqrt(3.0) * (1 + kErrors * 0.45 / root);
  return uniform || std::abs(ratio - std::sqrt(2 / M_PI)) < kErrors * 0.211 / root;
}

}  // namespace msdbg::watch
