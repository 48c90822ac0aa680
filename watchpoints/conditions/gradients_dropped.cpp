// Several backward passes for each step, and zero_grad() before each of them: the step is made of the last
// one alone. Or one, and zero_grad() after it. PyTorch's recorder says so by a node "torch.dropped_gradients"
// (dump/python/msdbg/_adds.py).
#include "watchpoints/conditions/marks.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

Finding findingOf(const EvaluationContext& context, const core::Node& node) {
  const auto passes = foreignAttribute<std::int64_t>(node, "passes", 0);
  if (passes > 1)
    return findingAtNode(
        context, node.id,
        "each step comes after " + std::to_string(passes) +
            " backward passes of one line, and the gradients of all but the last were set to zero before it: "
            "the step is made of one of them");
  Finding finding =
      findingAtNode(context, node.id,
                    "backward() computes gradients, and they are set to zero before step() reads "
                    "them: no step changes anything");
  finding.advice = "Call zero_grad() before backward(), or after step().";
  return finding;
}

}  // namespace

ConditionDef gradientsDroppedCondition() {
  ConditionDef def;
  def.id = "gradients_dropped";
  def.title = "Gradients are thrown away before the step";
  def.doc =
      "Of PyTorch: in three iterations in a row one line calls backward() several times, neither a step nor "
      "the program changes a parameter between the calls, the gradients of all but the last are gone before "
      "the next, and the step reads those of the last as they are; or those of the only one are gone before "
      "the step.";
  def.advice =
      "Where gradients are to add up, call zero_grad() once for each step: right after step(), or where a "
      "new round of micro-batches begins.";
  def.target = Target::kGradient;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return atMarks(graph, "torch.dropped_gradients", findingOf);
  };
  return def;
}

}  // namespace msdbg::watch
