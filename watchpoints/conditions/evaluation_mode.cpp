// A network that is trained as it is evaluated: eval() was called for an evaluation in between, and train()
// not again. PyTorch's recorder says so by a node "torch.eval" in each such iteration
// (dump/python/msdbg/_modes.py).
#include <algorithm>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Node;

class EvaluationMode : public Evaluator {
 public:
  explicit EvaluationMode(const core::Graph& graph) {
    for (const Node& node : graph.nodes())
      if (node.opType == "torch.eval") m_nodes.push_back({node.id, {}, 0});
  }

  void evaluate(EvaluationContext& context) override {
    if (m_nodes.empty() || context.ranks.empty()) return;
    const core::Rank rank = context.ranks.front();
    for (Told& told : m_nodes) {
      const Node& node = context.graph().node(told.node);
      ++context.evaluated;
      if (!context.rows.now(rank, node.outputs.front())) continue;
      if (told.iterations++ > 0) continue;
      told.finding = findingAtNode(context, node.id, sentence(node));
      // Batch norm alone is kept as it is on purpose, too, in the last part of a training.
      if (isOnlyBatchNorm(node)) told.finding.severity = Severity::kHint;
    }
  }

  void finish(EvaluationContext& context) override {
    for (Told& told : m_nodes) {
      if (told.iterations == 0) continue;
      if (told.iterations > 1)
        told.finding.detail += "; so it is in " + std::to_string(told.iterations) + " recorded iterations";
      context.findings.push_back(std::move(told.finding));
    }
  }

 private:
  struct Told {
    core::NodeId node;
    Finding finding;  // of the first iteration
    std::int64_t iterations = 0;
  };

  static bool isOnlyBatchNorm(const Node& node) {
    const std::string what = foreignAttribute(node, "switched_off", std::string());
    const std::vector<std::string> kinds = core::split(what, ',');
    return std::ranges::all_of(kinds,
                               [](const std::string& kind) { return kind.find("BatchNorm") != kind.npos; });
  }

  static std::string sentence(const Node& node) {
    const std::string module = node.name.substr(0, node.name.rfind('/'));
    return module +
           " is trained in evaluation mode from here on, in which it was not before: eval() switched " +
           foreignAttribute(node, "switched_off", std::string()) + " over, and no train() came after it";
  }

  std::vector<Told> m_nodes;
};

}  // namespace

ConditionDef evaluationModeCondition() {
  ConditionDef def;
  def.id = "evaluation_mode";
  def.title = "Trained in evaluation mode";
  def.doc =
      "Of PyTorch: a network that was called in training mode before is called in evaluation mode only, with "
      "gradients, in an iteration with an update, and a part of it computes something else there (dropout, "
      "batch norm). A hint where only batch norm is switched: it is frozen on purpose, too.";
  def.advice =
      "Call train() after every evaluation, or at the beginning of every iteration; to keep batch norm as it "
      "is, call eval() of those modules alone.";
  def.target = Target::kActivation;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<EvaluationMode>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
