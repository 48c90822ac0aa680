#include "watchpoints/conditions/left_out.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "watchpoints/conditions/initial_size.h"
#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::Phase;
using core::TensorId;
using core::TensorInfo;
using core::TensorRole;

std::string rootOf(const TensorInfo& parameter) { return parameter.name.substr(0, parameter.name.find('/')); }

TensorId rateOf(const Graph& graph, const Node& update) {
  for (const TensorId input : update.inputs)
    if (graph.tensor(input).role == TensorRole::kHyperparameter) return input;
  return {};
}

/// The parameter whose next value it is, also where an optimizer goes on from what another one made.
TensorId parameterOf(const Graph& graph, TensorId updated) {
  for (TensorId of = graph.tensor(updated).updateOf; of.valid(); of = graph.tensor(of).updateOf)
    if (graph.tensor(of).role == TensorRole::kParameter) return of;
  return {};
}

/// Which optimizers update what.
struct Trained {
  std::map<TensorId, std::vector<TensorId>> ratesOf;  // by parameter
  std::map<TensorId, std::vector<TensorId>> by;       // parameters, by rate
  std::map<TensorId, std::vector<NodeId>> updates;    // the same

  explicit Trained(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (node.phase != Phase::kUpdate) continue;
      for (const TensorId output : node.outputs) {
        const TensorId parameter = parameterOf(graph, output);
        if (!parameter.valid()) continue;
        const TensorId rate = rateOf(graph, node);
        ratesOf[parameter].push_back(rate);
        if (rate.valid()) by[rate].push_back(parameter), updates[rate].push_back(node.id);
      }
    }
  }

  /// The rate of an optimizer of whose parameters another one has every one: it was given the wrong ones.
  TensorId doubled() const {
    TensorId last;
    for (const auto& [rate, parameters] : by)
      if (std::ranges::all_of(parameters,
                              [&](TensorId parameter) { return ratesOf.at(parameter).size() > 1; }))
        last = rate;
    return last;
  }
};

/// The modules of PyTorch that have one parameter and whose AccumulateGrad ran: nothing else tells that a
/// sparse gradient was computed.
std::set<std::string> accumulating(const Graph& graph) {
  constexpr std::string_view kBegin = "grad/", kEnd = "/AccumulateGrad";
  std::map<std::string, int> parameters;
  for (const TensorInfo& info : graph.tensors())
    if (info.role == TensorRole::kParameter) ++parameters[info.name.substr(0, info.name.rfind('/'))];
  std::set<std::string> found;
  for (const Node& node : graph.nodes())
    if (node.phase == Phase::kBackward && node.scope.starts_with(kBegin) && node.scope.ends_with(kEnd))
      found.insert(node.scope.substr(kBegin.size(), node.scope.size() - kBegin.size() - kEnd.size()));
  std::erase_if(found, [&](const std::string& module) { return parameters[module] != 1; });
  return found;
}

/// Whose gradients are computed: a backward node exists for an operator that reads them.
std::vector<bool> withGradients(const Graph& graph) {
  const std::vector<bool> differentiated = differentiatedNodes(graph);
  std::vector<bool> found(graph.tensors().size());
  for (const Node& node : graph.nodes())
    if (node.phase == Phase::kForward && differentiated[node.id.index()])
      for (const TensorId input : node.inputs) found[input.index()] = true;
  const std::set<std::string> modules = accumulating(graph);
  for (const TensorInfo& info : graph.tensors())
    if (info.role == TensorRole::kParameter && modules.contains(info.name.substr(0, info.name.rfind('/'))))
      found[info.id.index()] = true;
  return found;
}

/// What the forward pass makes of trained parameters, and these. Of any root module: a layer that was put
/// into a list, or in another one's place, is a root of its own.
std::vector<bool> madeOfTrained(const Graph& graph, const Trained& trained) {
  std::vector<bool> made(graph.tensors().size());
  for (const auto& [parameter, rates] : trained.ratesOf) made[parameter.index()] = true;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward) continue;
    if (std::ranges::any_of(node.inputs, [&](TensorId input) { return made[input.index()]; }))
      for (const TensorId output : node.outputs) made[output.index()] = true;
  }
  return made;
}

NodeId readerOf(const Graph& graph, TensorId parameter) {
  for (const NodeId user : graph.consumers(parameter))
    if (graph.node(user).phase == Phase::kForward) return user;
  return {};
}

class Finder {
 public:
  explicit Finder(EvaluationContext& context)
      : m_context(context), m_graph(context.graph()), m_trained(context.graph()) {}

  std::vector<LeftOut> find() {
    if (m_trained.by.empty() || !hasTwoIterations()) return {};
    std::vector<std::string> roots;
    std::map<std::string, std::vector<TensorId>> found;
    const std::vector<bool> differentiated = withGradients(m_graph);
    for (const TensorInfo& info : m_graph.tensors()) {
      if (info.role != TensorRole::kParameter || !info.trainable || !differentiated[info.id.index()])
        continue;
      if (m_trained.ratesOf.contains(info.id)) continue;
      std::vector<TensorId>& of = found[rootOf(info)];
      if (of.empty()) roots.push_back(rootOf(info));
      of.push_back(info.id);
    }
    std::vector<LeftOut> all;
    for (const std::string& root : roots) all.push_back(leftOut(root, std::move(found[root])));
    return all;
  }

 private:
  bool hasTwoIterations() const {
    return !m_context.ranks.empty() && m_context.source.iterations(m_context.ranks.front()).size() > 1;
  }

  LeftOut leftOut(const std::string& root, std::vector<TensorId> parameters) {
    LeftOut out;
    const TensorId doubled = isTrained(root) ? TensorId() : m_trained.doubled();
    out.mistake = ((doubled.valid() || comesAfterTrained(parameters)) && areAsDrawn(parameters)) ||
                  (!isTrained(root) && areConstant(parameters));
    out.reader = readerOf(m_graph, parameters.front());
    out.optimizer = doubled.valid() ? doubled : optimizerOf(root, out.reader);
    out.sentence = sentence(parameters, doubled);
    out.parameters = std::move(parameters);
    return out;
  }

  bool isTrained(const std::string& root) const {
    return std::ranges::any_of(m_trained.ratesOf,
                               [&](const auto& each) { return rootOf(m_graph.tensor(each.first)) == root; });
  }

  /// The first iteration in which the node ran; invalid: none that statistics are left of.
  core::Iteration firstOf(NodeId reader) const {
    if (!reader.valid()) return {};
    const TensorId output = m_graph.node(reader).outputs.front();
    for (const core::Iteration iteration : m_context.source.iterations(m_context.rankWith(output)))
      if (hasRow(output, iteration)) return iteration;
    return {};
  }

  bool hasRow(TensorId tensor, core::Iteration iteration) const {
    return m_context.source.statistics(m_context.rankWith(tensor), iteration, tensor) != nullptr;
  }

  bool stepsIn(TensorId rate, core::Iteration iteration) const {
    return std::ranges::any_of(m_trained.updates.at(rate), [&](NodeId node) {
      return hasRow(m_graph.node(node).outputs.front(), iteration);
    });
  }

  /// The one that trains most of the same module; else the first of all that step then.
  TensorId optimizerOf(const std::string& root, NodeId reader) const {
    TensorId best;
    std::ptrdiff_t most = -1;
    const core::Iteration iteration = firstOf(reader);
    for (const auto& [rate, parameters] : m_trained.by) {
      if (iteration.valid() && !stepsIn(rate, iteration)) continue;  // that of an earlier stage
      const std::ptrdiff_t here = std::ranges::count_if(
          parameters, [&](TensorId parameter) { return rootOf(m_graph.tensor(parameter)) == root; });
      if (here > most) most = here, best = rate;
    }
    return best.valid() ? best : m_trained.by.begin()->first;
  }

  bool comesAfterTrained(const std::vector<TensorId>& parameters) const {
    const std::vector<bool> made = madeOfTrained(m_graph, m_trained);
    return std::ranges::any_of(parameters, [&](TensorId parameter) {
      const NodeId reader = readerOf(m_graph, parameter);
      return reader.valid() && std::ranges::any_of(m_graph.node(reader).inputs,
                                                   [&](TensorId input) { return made[input.index()]; });
    });
  }

  bool areAsDrawn(const std::vector<TensorId>& parameters) {
    constexpr std::int64_t kFew = 64;  // numbers tell nothing about how they are spread
    return std::ranges::all_of(parameters, [&](TensorId parameter) {
      const StatisticsRow* row = m_context.rows.now(m_context.rankWith(parameter), parameter);
      return !row || m_graph.tensor(parameter).shape.rank() < 2 || row->values.count < kFew ||
             mayBeAsDrawn(row->values);
    });
  }

  /// As nn.Parameter(torch.zeros(…)) begins, and as nothing is that was ever trained.
  bool areConstant(const std::vector<TensorId>& parameters) {
    return std::ranges::all_of(parameters, [&](TensorId parameter) {
      const StatisticsRow* row = m_context.rows.now(m_context.rankWith(parameter), parameter);
      return row && row->values.nonFinite() == 0 && row->values.min == row->values.max;
    });
  }

  std::string sentence(const std::vector<TensorId>& parameters, TensorId doubled) const {
    std::string text =
        m_graph.tensor(parameters.front()).name + " gets a gradient, but no optimizer updates it";
    if (const std::size_t more = parameters.size() - 1; more > 0)
      text += "; nor " + std::to_string(more) + (more == 1 ? " more parameter" : " more parameters") +
              ", up to " + m_graph.tensor(parameters.back()).name;
    if (doubled.valid())
      return text + ": an optimizer was given " + m_graph.tensor(m_trained.by.at(doubled).front()).name +
             " instead, and another one updates that already";
    return text;
  }

  EvaluationContext& m_context;
  const Graph& m_graph;
  Trained m_trained;
};

}  // namespace

std::vector<LeftOut> leftOutParameters(EvaluationContext& context) { return Finder(context).find(); }

}  // namespace msdbg::watch
