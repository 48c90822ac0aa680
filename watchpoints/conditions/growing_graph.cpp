// Autograd's graph grows from one iteration to the next: something is carried on and never detached.
// PyTorch's recorder says so by a node "torch.growing_graph" (dump/python/msdbg/_reach.py).
#include "watchpoints/conditions/marks.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

Finding findingOf(const EvaluationContext& context, const core::Node& node) {
  const std::string back =
      std::to_string(foreignAttribute<std::int64_t>(node, "iterations", 0)) + " iterations";
  const bool backward = foreignAttribute(node, "backward", false);
  Finding finding = findingAtNode(
      context, node.id,
      backward ? "the graph of the loss reaches back " + back +
                     ", to where the recording began: each backward pass goes through all iterations before "
                     "it as well, takes longer than the last one, and adds their gradients again"
               : "what is read here carries the graphs of the " + back +
                     " before, back to where the recording began: none of them is ever freed, and memory "
                     "grows until there is none");
  if (!backward) finding.severity = Severity::kHint;
  return finding;
}

}  // namespace

ConditionDef growingGraphCondition() {
  ConditionDef def;
  def.id = "growing_graph";
  def.title = "The graph grows with every iteration";
  def.doc =
      "Of PyTorch: after twelve recorded iterations what backward() is called on leads to operators of all "
      "twelve; at level ops also what an operator reads (a hint: memory alone).";
  def.advice =
      "Detach what is carried from one iteration to the next: state = state.detach(), total += loss.item().";
  def.target = Target::kLoss;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return atMarks(graph, "torch.growing_graph", findingOf);
  };
  return def;
}

}  // namespace msdbg::watch
