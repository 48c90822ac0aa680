// Parameters that are meant to train and do not: no gradient reaches them, or no optimizer has them. The
// graph knows it.
#include "core_engine/ops/cut_off.h"
#include "watchpoints/conditions/left_out.h"

namespace msdbg::watch {
namespace {

void addLeftOut(EvaluationContext& context, const LeftOut& left) {
  Finding finding = findingAtNode(context, left.reader, left.sentence);
  finding.writtenAt = left.optimizer;
  finding.advice =
      "Give the optimizer all that is to be trained (model.parameters()), or freeze the rest on purpose: "
      "requires_grad_(False).";
  if (!left.mistake) finding.severity = Severity::kHint;
  context.findings.push_back(std::move(finding));
}

void question(EvaluationContext& context) {
  std::vector<core::TensorId> told;
  for (const LeftOut& left : leftOutParameters(context)) {
    addLeftOut(context, left);
    told.insert(told.end(), left.parameters.begin(), left.parameters.end());
  }
  for (const core::CutOff& cut : core::cutOffParameters(context.graph(), told))
    context.findings.push_back(findingAtNode(context, cut.node, cut.sentence));
}

}  // namespace

ConditionDef noGradientCondition() {
  ConditionDef def;
  def.id = "no_gradient";
  def.title = "Meant to be trained, and is not";
  def.doc =
      "A trainable parameter has no update: nothing that leads to the loss reads what is made of it, or an "
      "operator without gradient (a Cast to integers, ArgMax, a comparison) stands between. Or it gets a "
      "gradient, "
      "and no optimizer was given it: a fault where it comes after trained layers and is as it was drawn, "
      "else a "
      "hint. From the graph.";
  def.advice =
      "Use the layer's result, replace the operator that stops the gradient, or freeze the parameters on "
      "purpose.";
  def.target = Target::kWeight;
  def.make = [](const core::Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
