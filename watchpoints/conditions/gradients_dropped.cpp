// Several backward passes for each step, and zero_grad() before each of them: the step is made of the last
// one alone. PyTorch's recorder says so by a node "torch.dropped_gradients" (dump/python/msdbg/_adds.py).
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Node;

class GradientsDropped : public Evaluator {
 public:
  explicit GradientsDropped(const core::Graph& graph) {
    for (const Node& node : graph.nodes())
      if (node.opType == "torch.dropped_gradients") m_nodes.push_back(node.id);
  }

  void evaluate(EvaluationContext& context) override {
    if (context.ranks.empty()) return;
    std::erase_if(m_nodes, [&](core::NodeId id) {
      const Node& node = context.graph().node(id);
      ++context.evaluated;
      if (!context.rows.now(context.ranks.front(), node.outputs.front())) return false;
      const auto passes = foreignAttribute<std::int64_t>(node, "passes", 0);
      context.findings.push_back(findingAtNode(
          context, id,
          "each step comes after " + std::to_string(passes) +
              " backward passes of one line, and the gradients of all but the last were set to zero before "
              "it: the step is made of one of them"));
      return true;
    });
  }

 private:
  std::vector<core::NodeId> m_nodes;
};

}  // namespace

ConditionDef gradientsDroppedCondition() {
  ConditionDef def;
  def.id = "gradients_dropped";
  def.title = "Gradients are thrown away before the step";
  def.doc =
      "Of PyTorch: in three iterations in a row one line calls backward() several times, neither a step nor "
      "the "
      "program changes a parameter between the calls, the gradients of all but the last are gone before the "
      "next, and the step reads those of the last as they are.";
  def.advice =
      "Where gradients are to add up, call zero_grad() once for each step: right after step(), or where a "
      "new "
      "round of micro-batches begins.";
  def.target = Target::kGradient;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<GradientsDropped>(graph);
  };
  return def;
}

}  // namespace msdbg::watch
