#include "core_engine/ops/cut_off.h"

#include <algorithm>

#include "core_engine/ops/op.h"

namespace msdbg::core {

/// As leadingToLosses(), but for ways through the nodes of `closed`.
static std::vector<bool> leadingPast(const Graph& graph, const std::vector<bool>& closed) {
  std::vector<bool> leads(graph.tensors().size());
  for (const TensorInfo& info : graph.tensors()) leads[info.id.index()] = info.role == TensorRole::kLoss;
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (node.phase != Phase::kForward || closed[node.id.index()]) continue;
    if (std::ranges::any_of(node.outputs, [&](TensorId output) { return leads[output.index()]; }))
      for (const TensorId input : node.inputs) leads[input.index()] = true;
  }
  return leads;
}

std::vector<bool> leadingToLosses(const Graph& graph) {
  return leadingPast(graph, std::vector<bool>(graph.nodes().size()));
}

namespace {

/// What a tensor leads to, in the forward part. `leads`: leadingToLosses().
class Reach {
 public:
  Reach(const Graph& graph, const std::vector<bool>& leads, TensorId from)
      : m_graph(graph), m_leads(leads), m_seen(graph.tensors().size()) {
    m_open.push_back(from);
    for (std::size_t i = 0; i < m_open.size(); ++i)
      for (const NodeId user : graph.consumers(m_open[i])) visit(graph.node(user));
  }

  bool loss() const { return m_loss; }
  /// The first operator on the way to a loss through which no gradient comes back; invalid if there is none.
  NodeId stop() const { return m_stop; }
  /// The last operator of the way, where nobody reads its result.
  NodeId end() const { return m_end; }

 private:
  static bool stopsGradients(const Graph& graph, const Node& node) {
    const OpDef* op = node.isOwn() ? findOp(node) : nullptr;
    return !isFloating(graph.tensor(node.outputs.front()).dtype) || (op && !op->gradient);
  }

  void visit(const Node& node) {
    if (node.phase != core::Phase::kForward) return;
    m_end = std::max(m_end, node.id);
    if (stopsGradients(m_graph, node) && leads(node) && (!m_stop.valid() || node.id < m_stop))
      m_stop = node.id;
    for (const TensorId output : node.outputs) {
      m_loss = m_loss || m_graph.tensor(output).role == TensorRole::kLoss;
      if (!m_seen[output.index()]) m_seen[output.index()] = true, m_open.push_back(output);
    }
  }

  bool leads(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](TensorId output) { return m_leads[output.index()]; });
  }

  const Graph& m_graph;
  const std::vector<bool>& m_leads;
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
  const Frame* frame = graph.userFrame(graph.node(node).frames);
  return graph.node(node).opType +
         (frame ? " at " + frame->file.substr(frame->file.rfind('/') + 1) + ":" + std::to_string(frame->line)
                : " " + graph.node(node).name);
}

struct Cut {
  NodeId node;
  std::string begin;
  int more = 0;
};

Cut cutOf(const Graph& graph, const std::vector<bool>& leads, TensorId parameter, NodeId user) {
  const Reach reach(graph, leads, parameter);
  const NodeId node = reach.loss() && reach.stop().valid() ? reach.stop() : user;
  return {node, "no gradient reaches " + graph.tensor(parameter).name + ": " +
                    (reach.stop().valid() && reach.loss() ? "stopped by " + placeOf(graph, node)
                     : reach.loss() ? "detach(), .data or torch.no_grad() stands between " +
                                          placeOf(graph, node) + " and the loss"
                                    : "nothing that leads to the loss reads " + placeOf(graph, reach.end()))};
}

}  // namespace

namespace {

bool isAllZero(const Graph& graph, TensorId tensor) {
  using Kind = Initializer::Kind;
  const TensorInfo& info = graph.tensor(tensor);
  if (info.role != TensorRole::kConstant) return false;
  if (!info.value.valid())
    return info.initializer.kind == Kind::kZeros ||
           (info.initializer.kind == Kind::kConstant && info.initializer.value == 0);
  for (std::int64_t i = 0; i < info.value.elements(); ++i)
    if (info.value.at(i) != 0) return false;
  return true;
}

bool multipliesByZero(const Graph& graph, const Node& node) {
  return node.phase == Phase::kForward && node.opType == "Mul" &&
         std::ranges::any_of(node.inputs, [&](TensorId input) { return isAllZero(graph, input); });
}

/// The first of `zeros` that the parameter leads to.
NodeId zeroBehind(const Graph& graph, const std::vector<bool>& zeros, TensorId parameter) {
  std::vector<bool> reached(graph.tensors().size());
  reached[parameter.index()] = true;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward ||
        std::ranges::none_of(node.inputs, [&](TensorId input) { return reached[input.index()]; }))
      continue;
    if (zeros[node.id.index()]) return node.id;
    for (const TensorId output : node.outputs) reached[output.index()] = true;
  }
  return {};
}

std::vector<CutOff> told(const std::vector<Cut>& cuts) {
  std::vector<CutOff> all;
  for (const Cut& cut : cuts)
    all.push_back({cut.node, cut.more == 0 ? cut.begin
                                           : cut.begin + "; nor " + std::to_string(cut.more) +
                                                 (cut.more == 1 ? " more parameter" : " more parameters")});
  return all;
}

}  // namespace

std::vector<CutOff> zeroedParameters(const Graph& graph) {
  std::vector<bool> zeros(graph.nodes().size());
  for (const Node& node : graph.nodes()) zeros[node.id.index()] = multipliesByZero(graph, node);
  if (std::ranges::find(zeros, true) == zeros.end()) return {};
  const std::vector<bool> leads = leadingToLosses(graph), past = leadingPast(graph, zeros);
  std::vector<Cut> cuts;
  for (const TensorInfo& info : graph.tensors()) {
    if (!info.updateOf.valid()) continue;
    const TensorInfo& parameter = graph.tensor(info.updateOf);
    const std::size_t at = parameter.id.index();
    if (parameter.role != TensorRole::kParameter || !parameter.trainable || !leads[at] || past[at]) continue;
    const NodeId node = zeroBehind(graph, zeros, parameter.id);
    const auto known = std::ranges::find(cuts, node, &Cut::node);
    if (known != cuts.end())
      ++known->more;
    else if (node.valid())
      cuts.push_back({node, "the gradient of " + parameter.name + " is always zero: " + placeOf(graph, node) +
                                " multiplies by 0"});
  }
  return told(cuts);
}

std::vector<CutOff> cutOffParameters(const Graph& graph, std::span<const TensorId> except) {
  std::vector<bool> updated(graph.tensors().size());
  for (const TensorInfo& info : graph.tensors())
    if (info.updateOf.valid()) updated[info.updateOf.index()] = true;
  if (std::ranges::find(updated, true) == updated.end()) return {};
  const std::vector<bool> leads = leadingToLosses(graph);
  std::vector<Cut> cuts;
  for (const TensorInfo& info : graph.tensors()) {
    if (info.role != TensorRole::kParameter || !info.trainable || updated[info.id.index()]) continue;
    if (std::ranges::find(except, info.id) != except.end()) continue;
    const NodeId user = firstUser(graph, info.id);
    if (!user.valid()) continue;
    Cut cut = cutOf(graph, leads, info.id, user);
    const auto known = std::ranges::find(cuts, cut.node, &Cut::node);
    if (known == cuts.end())
      cuts.push_back(std::move(cut));
    else
      ++known->more;
  }
  return told(cuts);
}

}  // namespace msdbg::core
