// Autograd's graph grows from one iteration to the next: something is carried on and never detached.
// PyTorch's recorder says so by a node "torch.growing_graph" (dump/python/msdbg/_reach.py).
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Node;

Finding findingOf(const EvaluationContext& context, const Node& node) {
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

class GrowingGraph : public Evaluator {
 public:
  explicit GrowingGraph(const core::Graph& graph) {
    for (const Node& node : graph.nodes())
      if (node.opType == "torch.growing_graph") m_nodes.push_back(node.id);
  }

  void evaluate(EvaluationContext& context) override {
    if (context.ranks.empty()) return;
    std::erase_if(m_nodes, [&](core::NodeId id) {
      const Node& node = context.graph().node(id);
      ++context.evaluated;
      if (!context.rows.now(context.ranks.front(), node.outputs.front())) return false;
      context.findings.push_back(findingOf(context, node));
      return true;
    });
  }

 private:
  std::vector<core::NodeId> m_nodes;
};

}  // namespace

ConditionDef growingGraphCondition() {
  ConditionDef def;
  def.id = "growing_graph";
  def.title = "The graph grows with every iteration";
  def.doc =
      "Of PyTorch: after twelve recorded iterations what backward() is called on leads to operators of each "
      "of "
      "them; at level ops also what an operator reads (a hint: memory alone).";
  def.advice =
      "Detach what is carried from one iteration to the next: state = state.detach(), total += loss.item().";
  def.target = Target::kLoss;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<GrowingGraph>(graph);
  };
  return def;
}

}  // namespace msdbg::watch
