// Parameters that are meant to train and that no gradient reaches: the graph knows it before the first
// iteration.
#include "core_engine/ops/cut_off.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

void question(EvaluationContext& context) {
  for (const core::CutOff& cut : core::cutOffParameters(context.graph()))
    context.findings.push_back(findingAtNode(context, cut.node, cut.sentence));
}

}  // namespace

ConditionDef noGradientCondition() {
  ConditionDef def;
  def.id = "no_gradient";
  def.title = "No gradient reaches it";
  def.doc =
      "A trainable parameter has no update: nothing that leads to the loss reads what is made of it, or an "
      "operator without gradient (a Cast to integers, ArgMax, a comparison) stands between. From the graph.";
  def.advice =
      "Use the layer's result, replace the operator that stops the gradient, or freeze the parameters on "
      "purpose.";
  def.target = Target::kWeight;
  def.make = [](const core::Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
