#include "watchpoints/conditions/score_scale.h"

#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/unit_vectors.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

/// Whether it may be the root of a width of the vectors that are multiplied, of one head or of all of them.
bool isRootOfWidth(const Graph& graph, const Node& product, double scale) {
  const double width = std::round(scale * scale);
  const core::Shape& shape = graph.tensor(product.inputs.front()).shape;
  if (std::abs(scale * scale - width) > 1e-3 * width || !shape.known() || shape.rank() < 2) return false;
  const auto own = static_cast<double>(shape[shape.rank() - 1]);
  return own > 0 && (std::fmod(own, width) == 0 || std::fmod(width, own) == 0);
}

}  // namespace

std::optional<ScaledUp> scaledUp(const Graph& graph, const Node& softmax) {
  static constexpr auto kProducts = std::to_array<std::string_view>({"MatMul", "aten.bmm", "aten.matmul"});
  static constexpr auto kMasks = std::to_array<std::string_view>({"aten.masked_fill", "aten.masked_fill_"});
  constexpr double kLeast = 2;
  double scale = 1;
  core::NodeId by;
  TensorId scores = softmax.inputs.front();
  for (int steps = 0; steps < 6; ++steps) {
    const Node* node = makerOf(graph, scores);
    if (!node || node->inputs.empty()) return std::nullopt;
    if (isOneOf(node, kProducts) && node->inputs.size() > 1) {
      const bool cosines =
          normOfUnitVector(graph, node->inputs[0]) || normOfUnitVector(graph, node->inputs[1]);
      if (cosines || !by.valid() || scale < kLeast || !isRootOfWidth(graph, *node, scale))
        return std::nullopt;
      const std::string factor = core::formatShort(scale);
      return ScaledUp{by, "the scores are multiplied by " + factor + ", the root of " +
                              core::formatShort(std::round(scale * scale)) +
                              ", where they are divided by the root of their width: the softmax chooses one "
                              "place, and hardly any gradient comes back through it"};
    }
    const bool product = node->opType == "Mul" || node->opType == "aten.mul";
    const bool quotient = node->opType == "Div" || node->opType == "aten.div";
    const std::optional<double> factor = product || quotient ? constantBeside(graph, *node, 0) : std::nullopt;
    if (factor && *factor > 0) {
      scale *= product ? *factor : 1 / *factor;
      if (product) by = node->id;
    } else if (!isOneOf(node, kMasks) && node->opType != "Add" && node->opType != "Where") {
      return std::nullopt;
    }
    scores = node->opType == "Where" && node->inputs.size() > 2 ? node->inputs[1] : node->inputs[0];
  }
  return std::nullopt;
}

}  // namespace msdbg::watch
