// Parameters that are meant to train and that no gradient reaches: the graph knows it before the first
// iteration.
#include <algorithm>

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

/// What a tensor leads to, in the forward part.
class Reach {
 public:
  Reach(const Graph& graph, TensorId from) : m_graph(graph), m_seen(graph.tensors().size()) {
    m_open.push_back(from);
    for (std::size_t i = 0; i < m_open.size(); ++i)
      for (const NodeId user : graph.consumers(m_open[i])) visit(graph.node(user));
  }

  bool loss() const { return m_loss; }
  /// The first operator on the way through which no gradient comes back; invalid if there is none.
  NodeId stop() const { return m_stop; }
  /// The last operator of the way, where nobody reads its result.
  NodeId end() const { return m_end; }

 private:
  static bool stopsGradients(const Graph& graph, const Node& node) {
    const core::OpDef* op = core::findOp(node.opType);
    return !isFloating(graph.tensor(node.outputs.front()).dtype) || (op && !op->gradient);
  }

  void visit(const Node& node) {
    if (node.phase != core::Phase::kForward) return;
    m_end = std::max(m_end, node.id);
    if (stopsGradients(m_graph, node) && (!m_stop.valid() || node.id < m_stop)) m_stop = node.id;
    for (const TensorId output : node.outputs) {
      m_loss = m_loss || m_graph.tensor(output).role == core::TensorRole::kLoss;
      if (!m_seen[output.index()]) m_seen[output.index()] = true, m_open.push_back(output);
    }
  }

  const Graph& m_graph;
  std::vector<bool> m_seen;
  std::vector<TensorId> m_open;
  bool m_loss = false;
  NodeId m_stop, m_end;
};

NodeId firstUser(const Graph& graph, TensorId parameter) {
  for (const NodeId user : graph.consumers(parameter))
    if (graph.node(user).phase == core::Phase::kForward) return user;
  return {};
}

std::string placeOf(const Graph& graph, NodeId node) {
  const core::Frame* frame = graph.userFrame(graph.node(node).frames);
  return graph.node(node).opType +
         (frame ? " at " + frame->file.substr(frame->file.rfind('/') + 1) + ":" + std::to_string(frame->line)
                : " " + graph.node(node).name);
}

/// One finding for each operator that cuts off, or layer that is cut off; it names the first parameter.
void question(EvaluationContext& context) {
  const Graph& graph = context.graph();
  const std::vector<ParameterUpdate> updates = parameterUpdates(graph);
  if (updates.empty()) return;  // nothing trains
  struct Cut {
    NodeId node;
    std::string detail;
    int more = 0;
  };
  std::vector<Cut> cuts;
  for (const TensorId parameter : selectTensors(graph, isWeight)) {
    if (std::ranges::find(updates, parameter, &ParameterUpdate::parameter) != updates.end()) continue;
    const NodeId user = firstUser(graph, parameter);
    if (!user.valid()) continue;
    const Reach reach(graph, parameter);
    const NodeId node = reach.loss() && reach.stop().valid() ? reach.stop() : user;
    if (const auto known = std::ranges::find(cuts, node, &Cut::node); known != cuts.end()) {
      ++known->more;
      continue;
    }
    const std::string begin = "no gradient reaches " + graph.tensor(parameter).name + ": ";
    cuts.push_back({node, begin + (reach.loss() ? "stopped by " + placeOf(graph, node)
                                                : "nothing that leads to the loss reads " +
                                                      placeOf(graph, reach.end()))});
  }
  for (const Cut& cut : cuts)
    context.findings.push_back(findingAtNode(
        context, cut.node,
        cut.detail + (cut.more > 0 ? "; nor " + std::to_string(cut.more) + " more parameters" : "")));
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
