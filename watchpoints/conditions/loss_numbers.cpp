// Losses whose numbers are not what they are taken for: the place of a maximum in place of its value, a mean
// that is squared in place of squares, a sum over all samples that is added to each, a term without gradient.
#include <algorithm>

#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

constexpr std::int64_t kSome = 8;  // elements, samples: with fewer it makes little difference
constexpr auto kMultiplies = std::to_array<std::string_view>({"Mul", "Div", "aten.mul", "aten.div", "Neg"});

/// Whether a node gives only or also the places of what it chose.
bool givesIndices(const Graph& graph, const Node& node, TensorId output) {
  static constexpr auto kChoose =
      std::to_array<std::string_view>({"ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "aten.argmax",
                                       "aten.argmin", "aten.max", "aten.min", "aten.topk", "aten.sort"});
  if (!isOneOf(&node, kChoose) || graph.tensor(output).dtype != core::DType::Int64) return false;
  if (node.outputs.size() < 2) return node.opType.find("rg") != std::string::npos;  // ArgMax, argmax
  return output == node.outputs[1] && graph.consumers(node.outputs[0]).empty();
}

/// The indices that a factor of a sum is made of, past casts, numbers and masks; invalid: none.
TensorId indicesIn(const Graph& graph, TensorId tensor) {
  for (int steps = 0; steps < 6; ++steps) {
    const TensorId origin = originOf(graph, tensor);
    const Node* node = producerOf(graph, origin);
    if (!node) return {};
    if (givesIndices(graph, *node, origin)) return origin;
    if (!isOneOf(node, kMultiplies)) return {};
    TensorId next = node->inputs.front();
    for (const TensorId input : node->inputs)
      if (const Node* maker = producerOf(graph, originOf(graph, input));
          maker && (givesIndices(graph, *maker, originOf(graph, input)) || isOneOf(maker, kMultiplies)))
        next = input;
    tensor = next;
  }
  return {};
}

/// reward + gamma * q.argmax(1): a number that came with the data, and the place of the largest.
void checkIndices(EvaluationContext& context, const std::vector<bool>& learnt,
                  const std::vector<bool>& parts) {
  const Graph& graph = context.graph();
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.inputs.size() != 2) continue;
    if (!isSum(&node) || !parts[node.outputs.front().index()]) continue;
    for (const std::size_t i : {0, 1}) {
      const core::TensorInfo& other = graph.tensor(node.inputs[1 - i]);
      const TensorId indices = indicesIn(graph, node.inputs[i]);
      if (!indices.valid() || learnt[other.id.index()] || !isFloating(other.dtype) || other.shape.rank() == 0)
        continue;
      Finding finding =
          findingAtNode(context, graph.tensor(indices).producer,
                        "what is used of it are the places of the largest values, not the values, and " +
                            node.name + " adds them to " + other.fullName() + " as if they were numbers");
      finding.advice = "Take .values of max(dim), or max(dim)[0]; [1] and argmax() are indices.";
      return context.findings.push_back(std::move(finding));
    }
  }
}

/// (a - b).mean() ** 2, in place of ((a - b) ** 2).mean(). A hint: a mean may be what is to vanish.
void checkSquaredMean(EvaluationContext& context, const std::vector<bool>& learnt,
                      const std::vector<bool>& parts) {
  static constexpr auto kSquares = std::to_array<std::string_view>({"Pow", "aten.pow", "Mul", "aten.mul"});
  const Graph& graph = context.graph();
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || !isOneOf(&node, kSquares) || node.inputs.empty()) continue;
    if (!parts[node.outputs.front().index()] || !learnt[node.outputs.front().index()]) continue;
    const bool power = node.opType.ends_with("ow");
    const bool squares = power ? foreignAttribute(node, "exponent", 0.0) == 2 ||
                                     foreignAttribute<std::int64_t>(node, "exponent", 0) == 2
                               : node.inputs.size() == 2 && node.inputs[0] == node.inputs[1];
    const Node* mean = producerOf(graph, node.inputs.front());
    if (!squares || !mean || mean->opType != "ReduceMean") continue;
    const Node* difference = producerOf(graph, unscaled(graph, mean->inputs.front()));
    const core::Shape& shape = graph.tensor(mean->inputs.front()).shape;
    if (graph.tensor(node.inputs.front()).shape.rank() != 0 || !shape.known() || shape.elements() < kSome)
      continue;
    if (!isSum(difference)) continue;
    Finding finding = findingAtNode(context, node.id,
                                    "the mean of " + std::to_string(shape.elements()) +
                                        " differences is squared, not their squares averaged: errors of "
                                        "opposite sign cancel, and it is zero for any that do");
    finding.severity = Severity::kHint;
    finding.advice = "Square first: (residual ** 2).mean().";
    return context.findings.push_back(std::move(finding));
  }
}

/// The sum over all of a tensor of `samples` rows that a number without dimensions is, or adds up; nullptr:
/// none.
const Node* sumOverSamples(const Graph& graph, TensorId number, std::int64_t samples, int depth = 0) {
  const Node* node = producerOf(graph, number);
  if (!node || node->inputs.empty() || depth > 8 || graph.tensor(number).shape.rank() != 0) return nullptr;
  if (node->opType == "ReduceSum") {
    const core::Shape& shape = graph.tensor(node->inputs.front()).shape;
    return shape.known() && shape.rank() > 1 && shape[0] == samples ? node : nullptr;
  }
  if (!isSum(node) && node->opType != "Neg") return nullptr;
  for (const TensorId input : node->inputs)
    if (const Node* sum = sumOverSamples(graph, input, samples, depth + 1)) return sum;
  return nullptr;
}

/// log_prob [batch] + log_det [], summed over the samples too.
void checkSumToEach(EvaluationContext& context, const std::vector<bool>& learnt,
                    const std::vector<bool>& parts) {
  const Graph& graph = context.graph();
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.inputs.size() != 2) continue;
    if (!isSum(&node) || !parts[node.outputs.front().index()]) continue;
    for (const std::size_t i : {0, 1}) {
      const core::Shape& each = graph.tensor(node.inputs[1 - i]).shape;
      if (!each.known() || each.rank() != 1 || each[0] < kSome || !learnt[node.inputs[1 - i].index()])
        continue;
      const Node* sum = sumOverSamples(graph, node.inputs[i], each[0]);
      if (!sum || !learnt[sum->outputs.front().index()]) continue;
      Finding finding =
          findingAtNode(context, sum->id,
                        "it sums over all of " + graph.tensor(sum->inputs.front()).shape.text() + ", the " +
                            std::to_string(each[0]) + " samples too, and " + node.name +
                            " adds that to the number of each sample: each is given what belongs to all");
      finding.advice = "Sum over what belongs to one sample: .sum(dim=1), or .flatten(1).sum(1).";
      return context.findings.push_back(std::move(finding));
    }
  }
}

/// a + (b - a).detach(): the gradient of one, the value of another.
bool showsAnother(const std::vector<Summand>& terms) {
  return std::ranges::any_of(terms, [&](const Summand& a) {
    return std::ranges::any_of(
        terms, [&](const Summand& b) { return a.tensor == b.tensor && a.subtracted && !b.subtracted; });
  });
}

/// A term that was made of parameters and that no gradient goes back through, beside others that have one.
void checkTermsWithoutGradient(EvaluationContext& context, TensorId loss, const std::vector<bool>& learnt) {
  const Graph& graph = context.graph();
  const std::vector<Summand> terms = summandsOf(graph, loss);
  const std::vector<bool> has = differentiatedTensors(graph);
  const auto hasGradient = [&](const Summand& term) { return has[term.tensor.index()]; };
  if (terms.size() < 2 || std::ranges::none_of(terms, hasGradient) || showsAnother(terms)) return;
  for (const Summand& term : terms) {
    const Node* node = producerOf(graph, term.tensor);
    const bool number = graph.tensor(term.tensor).shape.rank() == 0;
    if (!node || hasGradient(term) || !learnt[term.tensor.index()] || !number) continue;
    Finding finding =
        findingAtNode(context, node->id,
                      "it is a term of the loss, and no gradient goes back through it: for what "
                      "is learnt it is a constant");
    finding.advice =
        "Look for a detach(), .data or no_grad() in what it is computed of: one on the wrong side.";
    return context.findings.push_back(std::move(finding));
  }
}

}  // namespace

void checkNumbers(EvaluationContext& context, TensorId loss, const std::vector<bool>& learnt) {
  const std::vector<bool> parts = partsOf(context.graph(), loss);
  checkIndices(context, learnt, parts);
  checkSquaredMean(context, learnt, parts);
  checkSumToEach(context, learnt, parts);
  checkTermsWithoutGradient(context, loss, learnt);
}

}  // namespace msdbg::watch
