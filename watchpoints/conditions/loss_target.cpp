// What stands as the target of a loss, and is learnt itself: a teacher that nobody froze, the next value of a
// Q-function that a gradient goes back through.
#include <set>

#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/conditions/unit_vectors.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

using Parameters = std::set<TensorId>;

/// That train and have a part in a tensor.
Parameters trainedIn(const Graph& graph, const std::vector<bool>& parts) {
  Parameters found;
  for (const core::TensorInfo& info : graph.tensors())
    if (parts[info.id.index()] && info.isSource() && info.role == core::TensorRole::kParameter &&
        info.trainable)
      found.insert(info.id);
  return found;
}

bool haveOneInCommon(const Parameters& a, const Parameters& b) {
  return std::ranges::any_of(a, [&](TensorId id) { return b.contains(id); });
}

/// Tensors that have a part in the loss by another way than through this node.
std::vector<bool> partsBeside(const Graph& graph, TensorId loss, const Node& without) {
  std::vector<bool> parts(graph.tensors().size());
  parts[loss.index()] = true;
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (node.id == without.id || node.outputs.empty()) continue;
    if (std::ranges::any_of(node.outputs, [&](TensorId output) { return parts[output.index()]; }))
      for (const TensorId input : node.inputs) parts[input.index()] = true;
  }
  return parts;
}

/// Probabilities times log-probabilities: which of the two factors are the probabilities.
std::optional<std::size_t> probabilitiesIn(const Graph& graph, const Node& product) {
  static constexpr auto kSoftmax = std::to_array<std::string_view>({"Softmax", "aten._softmax"});
  static constexpr auto kLogs =
      std::to_array<std::string_view>({"LogSoftmax", "Log", "aten._log_softmax", "aten.log"});
  if (product.inputs.size() != 2) return std::nullopt;
  for (const std::size_t i : {0, 1}) {
    if (!isOneOf(makerOf(graph, product.inputs[i]), kSoftmax)) continue;
    for (const Summand& part : summandsOf(graph, product.inputs[1 - i]))
      if (isOneOf(producerOf(graph, unscaled(graph, part.tensor)), kLogs)) return i;
  }
  return std::nullopt;
}

/// The last term of what a product multiplies that is a log-probability of other parameters.
bool isComparedWithOthers(const Graph& graph, TensorId logs, const Parameters& own) {
  return std::ranges::any_of(summandsOf(graph, logs), [&](const Summand& part) {
    const Parameters others = trainedIn(graph, partsOf(graph, part.tensor));
    return !others.empty() && !haveOneInCommon(own, others);
  });
}

void add(EvaluationContext& context, TensorId target, const Node& where) {
  const Graph& graph = context.graph();
  const Parameters own = trainedIn(graph, partsOf(graph, target));
  const Node* maker = makerOf(graph, target);
  const std::string name = maker ? maker->name : graph.tensor(target).name;
  Finding finding = findingAtNode(
      context, maker ? maker->id : where.id,
      name + " stands as the target in " + where.name + ", and a gradient goes back through it to " +
          graph.tensor(*own.begin()).name +
          (own.size() > 1 ? " and " + std::to_string(own.size() - 1) + " more" : "") +
          ", which nothing else in the loss holds: the target moves to meet what is to learn from it");
  finding.severity = Severity::kHint;
  finding.advice = "Freeze what gives the target, or stop the gradient at it (stopGradient(), detach()).";
  context.findings.push_back(std::move(finding));
}

/// softmax(teacher) * (log_softmax(teacher) - log_softmax(student)).
bool checkTeacher(EvaluationContext& context, TensorId loss, const Node& product,
                  const std::vector<bool>& differentiated) {
  const Graph& graph = context.graph();
  const std::optional<std::size_t> i = probabilitiesIn(graph, product);
  if (!i || !differentiated[product.inputs[*i].index()]) return false;
  const Parameters own = trainedIn(graph, partsOf(graph, product.inputs[*i]));
  if (own.empty() || !isComparedWithOthers(graph, product.inputs[1 - *i], own)) return false;
  if (haveOneInCommon(own, trainedIn(graph, partsBeside(graph, loss, product)))) return false;
  add(context, product.inputs[*i], product);
  return true;
}

/// reward + gamma * max(Q(next)), of the parameters of the Q-function that it is to be the target of.
bool checkNextValue(EvaluationContext& context, const Node& difference,
                    const std::vector<bool>& differentiated) {
  static constexpr auto kLargest =
      std::to_array<std::string_view>({"ReduceMax", "aten.max", "aten.amax", "TopK"});
  const Graph& graph = context.graph();
  for (const std::size_t i : {0, 1}) {
    const TensorId target = originOf(graph, difference.inputs[i]), predicted = difference.inputs[1 - i];
    const std::vector<Summand> terms = summandsOf(graph, target);
    const bool rewarded = std::ranges::any_of(
        terms, [&](const Summand& term) { return isData(graph, originOf(graph, term.tensor)); });
    if (terms.size() < 2 || !rewarded || !differentiated[target.index()] ||
        !differentiated[predicted.index()])
      continue;
    const std::vector<bool> parts = partsOf(graph, target), others = partsOf(graph, predicted);
    const auto chooses = [&](const Node& node) {
      return node.phase == core::Phase::kForward && isOneOf(&node, kLargest) &&
             differentiated[node.outputs.front().index()] && parts[node.outputs.front().index()] &&
             !others[node.outputs.front().index()];
    };
    const auto largest = std::ranges::find_if(graph.nodes(), chooses);
    if (largest == graph.nodes().end()) continue;
    if (!haveOneInCommon(trainedIn(graph, partsOf(graph, largest->outputs.front())),
                         trainedIn(graph, others)))
      continue;
    Finding finding = findingAtNode(
        context, largest->id,
        "the largest value that it takes is part of a target, " + graph.tensor(target).fullName() +
            ", and a gradient goes back through it to the parameters that " + difference.name +
            " compares with that target: they learn to make the target small, too");
    finding.severity = Severity::kHint;
    finding.advice =
        "Stop the gradient at the target (stopGradient(), detach(), no_grad()), or take it from a copy of "
        "the "
        "network.";
    context.findings.push_back(std::move(finding));
    return true;
  }
  return false;
}

/// The two unit vectors whose cosine a term is; nullopt: it is another term.
std::optional<std::pair<TensorId, TensorId>> cosineOf(const Graph& graph, TensorId term) {
  static constexpr auto kSums =
      std::to_array<std::string_view>({"ReduceSum", "aten.sum", "ReduceMean", "aten.mean"});
  const Node* node = producerOf(graph, unscaled(graph, term));
  for (int steps = 0; steps < 3 && isOneOf(node, kSums); ++steps)
    node = producerOf(graph, unscaled(graph, node->inputs.front()));
  if (!isProduct(node) || node->inputs.size() != 2) return std::nullopt;
  if (!normOfUnitVector(graph, node->inputs[0]) || !normOfUnitVector(graph, node->inputs[1]))
    return std::nullopt;
  return std::pair(node->inputs[0], node->inputs[1]);
}

/// Terms that a loss adds up, past factors that are numbers around them: each once.
std::vector<TensorId> termsOf(const Graph& graph, TensorId loss) {
  std::vector<TensorId> terms;
  std::set<TensorId> seen{loss};
  std::vector<TensorId> open{loss};
  while (!open.empty()) {
    const TensorId bare = unscaled(graph, open.back());
    open.pop_back();
    const std::vector<Summand> parts = summandsOf(graph, bare);
    if (parts.size() < 2) {
      terms.push_back(bare);
      continue;
    }
    for (const Summand& part : parts)
      if (seen.insert(part.tensor).second) open.push_back(part.tensor);
  }
  return terms;
}

/// Nothing but cosines of two results of the same network, a gradient through both: all that it gives may
/// become the same (Chen and He 2021, SimSiam).
void checkCollapse(EvaluationContext& context, TensorId loss, const std::vector<bool>& differentiated) {
  const Graph& graph = context.graph();
  const std::vector<TensorId> terms = termsOf(graph, loss);
  std::optional<std::pair<TensorId, TensorId>> first;
  for (const TensorId term : terms) {
    const auto cosine = cosineOf(graph, term);
    if (!cosine || !differentiated[cosine->first.index()] || !differentiated[cosine->second.index()]) return;
    if (!haveOneInCommon(trainedIn(graph, partsOf(graph, cosine->first)),
                         trainedIn(graph, partsOf(graph, cosine->second))))
      return;
    if (!first) first = cosine;
  }
  if (!first) return;
  Finding finding = findingAtNode(context, producerOf(graph, loss)->id,
                                  "it is nothing but the cosine of " + graph.tensor(first->first).fullName() +
                                      " and " + graph.tensor(first->second).fullName() +
                                      ", and a gradient goes back through both to the same parameters: "
                                      "nothing keeps all samples from becoming "
                                      "the same vector");
  finding.severity = Severity::kHint;
  finding.advice =
      "Stop the gradient at the side that stands as the target: z.detach(), as SimSiam and BYOL do; or "
      "compare with other samples, too.";
  context.findings.push_back(std::move(finding));
}

}  // namespace

void checkTarget(EvaluationContext& context, TensorId loss) {
  const Graph& graph = context.graph();
  const std::vector<bool> differentiated = differentiatedTensors(graph), parts = partsOf(graph, loss);
  checkCollapse(context, loss, differentiated);
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.outputs.empty() || !parts[node.outputs.front().index()])
      continue;
    if (isProduct(&node) && checkTeacher(context, loss, node, differentiated)) return;
    if (isComparison(node) && checkNextValue(context, node, differentiated)) return;
  }
}

}  // namespace msdbg::watch
