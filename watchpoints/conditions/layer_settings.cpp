#include "watchpoints/conditions/layer_settings.h"

#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::floatAttribute;
using core::Graph;
using core::Node;

constexpr double kLargeEpsilon = 0.1;  // a variance of 1 is usual
constexpr double kForgets = 0.9;       // the share of the newest batch, as PyTorch counts

/// How much it sets to zero. On the CPU PyTorch draws a mask that keeps p, and divides it by p.
double dropped(const Graph& graph, const Node& node) {
  if (node.opType == "Dropout") return floatAttribute(node.attributes, "ratio", 0.5);
  const double kept = node.opType == "aten.bernoulli_" ? foreignAttribute(node, "p", 1.0) : 1;
  if (kept >= 1 || node.outputs.empty()) return 0;
  const bool scaled = std::ranges::any_of(graph.consumers(node.outputs.front()), [&](core::NodeId user) {
    const Node& quotient = graph.node(user);
    return quotient.opType.starts_with("aten.div") &&
           std::abs(foreignAttribute(quotient, "other", 0.0) - kept) < 1e-6;
  });
  return scaled ? 1 - kept : 0;
}

void addDropout(const Graph& graph, const Node& node, double most, std::vector<LayerSetting>& found) {
  const double ratio = dropped(graph, node);
  if (ratio < most - 1e-9) return;
  found.push_back({.node = node.id,
                   .parameter = "dropout_max",
                   .preset = most,
                   .actual = ratio,
                   .detail = "it drops " + core::formatShort(100 * ratio) + " % of its input",
                   .advice = {}});
}

void addEpsilon(const Node& node, std::vector<LayerSetting>& found) {
  static constexpr auto kNormalisations = std::to_array<std::string_view>(
      {"BatchNormalization", "LayerNormalization", "GroupNormalization", "aten.native_batch_norm",
       "aten.native_layer_norm", "aten.native_group_norm"});
  const double epsilon = foreignAttribute(node, node.attributes.contains("epsilon") ? "epsilon" : "eps", 0.0);
  if (!isOneOf(&node, kNormalisations) || epsilon < kLargeEpsilon) return;
  found.push_back({.node = node.id,
                   .parameter = {},
                   .preset = kLargeEpsilon,
                   .actual = epsilon,
                   .detail = "an epsilon of " + core::formatShort(epsilon) +
                             " is added to the variance: what varies less is not normalised but made small",
                   .advice = "Leave eps as it is (1e-5): it only keeps from dividing by zero.",
                   .severity = Severity::kHint});
}

void addMomentum(const Node& node, std::vector<LayerSetting>& found) {
  const bool ofTorch = node.domain == "aten" &&
                       (node.opType == "BatchNormalization" || node.opType == "aten.native_batch_norm");
  const double share = ofTorch ? foreignAttribute(node, "momentum", 0.0) : 0;
  if (share < kForgets) return;
  found.push_back({.node = node.id,
                   .parameter = {},
                   .preset = kForgets,
                   .actual = share,
                   .detail = "with a momentum of " + core::formatShort(share) +
                             " the running mean and variance are those of the last batch, by which an "
                             "evaluation then normalises",
                   .advice =
                       "PyTorch's momentum is the share of the new batch (0.1); Keras counts the old one's "
                       "(0.99): take 1 minus that.",
                   .severity = Severity::kHint});
}

}  // namespace

std::vector<LayerSetting> oddLayerSettings(const Graph& graph, double dropoutMax) {
  std::vector<LayerSetting> found;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward) continue;
    addDropout(graph, node, dropoutMax, found);
    addEpsilon(node, found);
    addMomentum(node, found);
  }
  return found;
}

}  // namespace msdbg::watch
