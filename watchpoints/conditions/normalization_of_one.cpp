// A normalisation over a single value takes it away, and so does the mean of what was just brought to mean
// zero: what is left does not depend on the input.
#include <algorithm>

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

/// By the batch's own mean; in evaluation a BatchNormalization takes one that it has kept.
bool takesMeanOfBatch(const core::Node& node) {
  return foreignAttribute<std::int64_t>(node, "training_mode", 0) != 0 ||
         foreignAttribute(node, "training_mode", false);
}

using Axes = std::vector<bool>;  // true: along this one

/// Along which a batch or layer normalisation, or one of each channel by itself, makes the mean zero; empty:
/// not known, or another node.
Axes normalisedAxes(const core::Graph& graph, const core::Node& node) {
  if (node.inputs.empty()) return {};
  const core::Shape& shape = graph.tensor(node.inputs.front()).shape;
  if (!shape.known() || shape.rank() < 2) return {};
  Axes axes(shape.rank(), false);
  const auto rank = static_cast<std::int64_t>(shape.rank());
  std::int64_t first = rank;
  if (node.opType == "BatchNormalization") {
    if (!takesMeanOfBatch(node)) return {};
    first = 2, axes[0] = true;
  } else if (node.opType == "LayerNormalization") {
    const std::int64_t axis = core::intAttribute(node.attributes, "axis", -1);
    first = axis < 0 ? axis + rank : axis;
  } else if (node.opType == "GroupNormalization" &&
             core::intAttribute(node.attributes, "num_groups", 0) == shape[1]) {
    first = 2;
  }
  for (std::int64_t i = std::max<std::int64_t>(first, 0); i < rank; ++i)
    axes[static_cast<std::size_t>(i)] = true;
  return axes;
}

/// How many values share one mean.
std::int64_t valuesPerMean(const core::Shape& shape, const Axes& axes) {
  std::int64_t values = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) values *= axes[i] ? shape[i] : 1;
  return values;
}

/// Along which a node takes a mean; empty: it takes none, or one of everything, which a loss may.
Axes meanAxes(const core::Graph& graph, const core::Node& node) {
  const core::Shape& shape = graph.tensor(node.inputs.front()).shape;
  Axes axes(shape.rank(), false);
  const auto rank = static_cast<std::int64_t>(shape.rank());
  if (node.opType == "GlobalAveragePool") {
    for (std::size_t i = 2; i < axes.size(); ++i) axes[i] = true;
  } else if (node.opType == "ReduceMean") {
    for (const std::int64_t axis : core::intsAttribute(node.attributes, "axes", {}))
      if (-rank <= axis && axis < rank) axes[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  const bool some = std::ranges::count(axes, true) > 0, all = std::ranges::count(axes, false) == 0;
  return some && !all ? axes : Axes();
}

/// The node before what passes on all values where they lie.
const core::Node* passedOnBy(const core::Graph& graph, core::TensorId tensor) {
  static constexpr auto kPasses = std::to_array<std::string_view>({"Dropout", "Identity", "Cast"});
  const core::Node* node = producerOf(graph, tensor);
  while (isOneOf(node, kPasses)) node = producerOf(graph, node->inputs.front());
  return node;
}

/// A mean along all axes along which a normalisation has just made it zero. A hint where the scale, which is
/// 1 to begin with, lets something through once it differs along these axes.
void checkMeans(EvaluationContext& context) {
  const core::Graph& graph = context.graph();
  std::vector<bool> differentiated;  // asked only where there is such a mean
  for (const core::Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.inputs.empty()) continue;
    const Axes mean = meanAxes(graph, node);
    const core::Node* norm = mean.empty() ? nullptr : passedOnBy(graph, node.inputs.front());
    const Axes normalised = norm ? normalisedAxes(graph, *norm) : Axes();
    if (std::ranges::count(normalised, true) == 0 || normalised.size() != mean.size()) continue;
    if (!std::ranges::equal(normalised, mean, [](bool n, bool m) { return m || !n; })) continue;
    if (differentiated.empty()) differentiated = differentiatedNodes(graph);
    if (!differentiated[node.id.index()]) continue;
    Finding finding =
        findingAtNode(context, node.id,
                      "it takes the mean along the axes along which " + norm->name +
                          " has just made it zero, of " + graph.tensor(node.inputs.front()).shape.text());
    if (norm->opType == "LayerNormalization") {
      finding.severity = Severity::kHint;
      finding.detail += ": with the scale of 1 that training begins with, nothing of its input is left";
    } else {
      finding.detail += ": what is left is its bias, whatever the input is";
    }
    finding.advice = "Take the mean along another axis (of tokens, of places), or normalise after it.";
    context.findings.push_back(std::move(finding));
  }
}

void question(EvaluationContext& context) {
  checkMeans(context);
  for (const core::Node& node : context.graph().nodes()) {
    const bool batch = node.opType == "BatchNormalization";
    if (node.phase != core::Phase::kForward || !(batch || node.opType == "LayerNormalization")) continue;
    const Axes axes = normalisedAxes(context.graph(), node);
    if (axes.empty() || valuesPerMean(context.graph().tensor(node.inputs.front()).shape, axes) != 1) continue;
    const std::string what = batch ? "its batch is a single row" : "it normalises over a single value";
    Finding finding = findingAtNode(
        context, node.id, what + ": minus its own mean it is 0, and nothing of its input comes through");
    if (!batch)
      finding.advice = "Lay the features into the last dimension, or name the axis to normalise over.";
    context.findings.push_back(std::move(finding));
  }
}

}  // namespace

ConditionDef normalizationOfOneCondition() {
  ConditionDef def;
  def.id = "normalization_of_one";
  def.title = "Normalisation that leaves nothing of its input";
  def.doc =
      "From the graph: BatchNormalization or LayerNormalization whose mean is over one value; or a mean "
      "along "
      "the axes along which a normalisation (batch, layer, or of each channel by itself) has just made the "
      "mean zero: a hint where the scale differs along them.";
  def.advice = "Use a larger batch, or another dimension to normalise over.";
  def.rowsOnly = true;
  def.make = [](const core::Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
