// A normalisation over a single value takes it away: what is left does not depend on the input.
#include "core_engine/ops/op.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

/// How many values share one mean; nullopt: not known.
std::optional<std::int64_t> valuesPerMean(const core::Graph& graph, const core::Node& node) {
  const core::Shape& shape = graph.tensor(node.inputs.front()).shape;
  if (!shape.known() || shape.rank() < 2) return std::nullopt;
  std::int64_t values = 1;
  if (node.opType == "BatchNormalization") {
    for (std::size_t i = 0; i < shape.rank(); ++i) values *= i == 1 ? 1 : shape[i];
    return values;
  }
  const std::int64_t rank = static_cast<std::int64_t>(shape.rank());
  const std::int64_t axis = core::intAttribute(node.attributes, "axis", -1);
  for (std::int64_t i = axis < 0 ? axis + rank : axis; i < rank; ++i)
    values *= shape[static_cast<std::size_t>(i)];
  return values;
}

void question(EvaluationContext& context) {
  for (const core::Node& node : context.graph().nodes()) {
    const bool batch = node.opType == "BatchNormalization";
    if (node.phase != core::Phase::kForward || !(batch || node.opType == "LayerNormalization")) continue;
    if (valuesPerMean(context.graph(), node) != 1) continue;
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
  def.title = "Normalisation of a single value";
  def.doc = "From the graph: BatchNormalization or LayerNormalization whose mean is over one value.";
  def.advice = "Use a larger batch, or another dimension to normalise over.";
  def.rowsOnly = true;
  def.make = [](const core::Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
