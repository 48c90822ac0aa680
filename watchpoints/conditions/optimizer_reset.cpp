// An optimizer that is made anew for every step: it forgets its momentum and its like each time. PyTorch's
// recorder says so by a node "torch.new_optimizer" (dump/python/msdbg/_heirs.py).
#include "watchpoints/conditions/marks.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

Finding findingOf(const EvaluationContext& context, const core::Node& node) {
  return findingAtNode(
      context, node.id,
      "each of the last " + std::to_string(foreignAttribute<std::int64_t>(node, "steps", 0)) +
          " steps was the first of a new " + foreignAttribute(node, "optimizer", std::string()) +
          ": what it keeps for each parameter, as momentum, begins at zero every time");
}

}  // namespace

ConditionDef optimizerResetCondition() {
  ConditionDef def;
  def.id = "optimizer_reset";
  def.title = "The optimizer is made anew for every step";
  def.doc =
      "Of PyTorch: six optimizers in a row with the same parameters made one step each, and keep states "
      "(momentum, averages of gradients), which so never are those of more than one step.";
  def.advice = "Make the optimizer once, before the loop; to change its rate, use a scheduler.";
  def.target = Target::kWeight;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return atMarks(graph, "torch.new_optimizer", findingOf);
  };
  return def;
}

}  // namespace msdbg::watch
