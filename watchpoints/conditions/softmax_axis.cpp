// A softmax along another axis than the one its weights are used on, as the graph shows it: over the batch,
// or over the queries of an attention whose product sums over the keys. And a norm likewise.
#include <algorithm>

#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/products.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/conditions/unit_vectors.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;

bool isBatch(const Graph& graph, std::int64_t size) {
  return std::ranges::any_of(graph.tensors(), [&](const core::TensorInfo& info) {
    return (info.role == core::TensorRole::kInput || info.role == core::TensorRole::kLabel) &&
           info.shape.rank() > 0 && info.shape[0] == size;
  });
}

/// Counted from the front.
std::size_t axisOf(const Graph& graph, const Node& node) {
  const auto rank = static_cast<std::int64_t>(graph.tensor(node.outputs.front()).shape.rank());
  const std::int64_t axis = softmaxAxis(node);
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

/// [batch, classes] normalised along the batch.
void checkBatch(EvaluationContext& context, const Node& node) {
  const core::Shape& shape = context.graph().tensor(node.outputs.front()).shape;
  if (shape.rank() != 2 || shape[0] == shape[1] || shape[1] == 1 || !isBatch(context.graph(), shape[0]))
    return;
  if (axisOf(context.graph(), node) != 0) return;
  context.findings.push_back(findingAtNode(
      context, node.id,
      node.opType + " along axis 0 runs over the batch: what each sample gets depends on the others"));
}

/// [batch, 1]: a single output was meant for a sigmoid.
void checkSingle(EvaluationContext& context, const Node& node) {
  const core::Shape& shape = context.graph().tensor(node.outputs.front()).shape;
  if (shape.rank() != 2 || shape[1] != 1 || shape[0] == 1 || axisOf(context.graph(), node) != 1) return;
  Finding finding = findingAtNode(
      context, node.id,
      node.opType + " of " + shape.text() + " runs over one element, and is always " +
          (node.opType == "Softmax" ? "1" : "0") +
          " whatever is learnt: a single output goes through a sigmoid, a softmax needs one for each class");
  finding.advice = "Give the single output to a sigmoid, or make one output for each class.";
  context.findings.push_back(std::move(finding));
}

/// The products that read a tensor, as it is or after a dropout.
std::vector<std::pair<const Node*, core::TensorId>> productsOf(const Graph& graph, core::TensorId weights) {
  static constexpr auto kPasses =
      std::to_array<std::string_view>({"Dropout", "Identity", "Cast", "StopGradient"});
  std::vector<std::pair<const Node*, core::TensorId>> found;
  std::vector<core::TensorId> open{weights};
  for (std::size_t i = 0; i < open.size(); ++i)
    for (const core::NodeId user : graph.consumers(open[i])) {
      const Node& node = graph.node(user);
      if (node.phase != core::Phase::kForward) continue;
      if (isOneOf(&node, kPasses)) open.push_back(node.outputs.front());
      if (isMatrixProduct(node)) found.emplace_back(&node, open[i]);
    }
  return found;
}

/// weights [.., queries, keys] in weights x values, which sums over the keys: each row of weights has to sum
/// to 1.
void checkWeights(EvaluationContext& context, const Node& softmax) {
  const Graph& graph = context.graph();
  const core::TensorId weights = softmax.outputs.front();
  const core::Shape& shape = graph.tensor(weights).shape;
  // [batch, experts] and their like are no attention; each with each, as the nodes of a graph, are.
  if (!shape.known() || shape.rank() < 2 || (shape.rank() == 2 && shape[0] != shape[1])) return;
  const std::size_t axis = axisOf(graph, softmax);
  for (const auto& [product, read] : productsOf(graph, weights)) {
    const std::optional<std::size_t> summed = summedAxis(graph, *product, product->inputs[0] == read ? 0 : 1);
    if (!summed || axis == *summed || product->inputs[0] == product->inputs[1]) continue;
    return context.findings.push_back(findingAtNode(
        context, softmax.id,
        "Softmax along axis " + std::to_string(axis) + " of " + shape.text() + ", but " + product->name +
            " sums over axis " + std::to_string(*summed) +
            ": what it weighs with does not sum to 1; along axis " + std::to_string(*summed) +
            (*summed + 1 == shape.rank() ? " (the last one, the keys) it would" : " it would")));
  }
}

/// [batch, channels, height, width] of a convolution, normalised along one side of the picture.
void checkPicture(EvaluationContext& context, const Node& softmax) {
  static constexpr auto kConvolutions =
      std::to_array<std::string_view>({"Conv", "aten.convolution", "ConvTranspose"});
  const Graph& graph = context.graph();
  const core::Shape& shape = graph.tensor(softmax.outputs.front()).shape;
  const std::size_t axis = axisOf(graph, softmax);
  if (shape.rank() != 4 || axis < 2 || shape[1] < 2 || shape[2] < 2 || shape[3] < 2) return;
  if (!isOneOf(producerOf(graph, softmax.inputs.front()), kConvolutions)) return;
  context.findings.push_back(findingAtNode(
      context, softmax.id,
      softmax.name + " runs along axis " + std::to_string(axis) + " of " + shape.text() + ", the " +
          (axis == 2 ? "rows" : "columns") +
          " of a picture that a convolution gives: its channels, axis 1, are what competes in each pixel"));
}

/// What a loss of classes is given has to sum to 1 over the classes.
void checkLoss(EvaluationContext& context, const Node& loss) {
  const Graph& graph = context.graph();
  if (loss.inputs.empty() || !foreignAttribute(loss, fact::kNormalisedElsewhere, false)) return;
  const Node* softmax = makerOf(graph, loss.inputs.front());
  if (!softmax) return;
  const core::Shape& shape = graph.tensor(softmax->outputs.front()).shape;
  context.findings.push_back(
      findingAtNode(context, softmax->id,
                    softmax->name + " runs along axis " + std::to_string(axisOf(graph, *softmax)) + " of " +
                        shape.text() + ", which is not that of the classes that " + loss.name +
                        " reads: the probabilities of one sample's classes do not sum to 1"));
}

/// What groups of rows are summed by, where a softmax over all rows weighs them.
bool isScattered(const Graph& graph, core::TensorId weights, int depth = 0) {
  static constexpr auto kPasses = std::to_array<std::string_view>(
      {"Mul", "aten.mul", "Reshape", "Unsqueeze", "Squeeze", "Expand", "Identity", "Cast", "Dropout"});
  static constexpr auto kScatters = std::to_array<std::string_view>(
      {"aten.index_add", "aten.index_add_", "aten.scatter_add", "aten.scatter_add_", "aten.scatter_reduce",
       "aten.scatter_reduce_", "ScatterAdd"});
  return std::ranges::any_of(graph.consumers(weights), [&](core::NodeId user) {
    const Node& node = graph.node(user);
    if (node.phase != core::Phase::kForward || node.outputs.empty()) return false;
    return isOneOf(&node, kScatters) ||
           (isOneOf(&node, kPasses) && depth < 5 && isScattered(graph, node.outputs.front(), depth + 1));
  });
}

/// Scores of edges, normalised over all edges, and then summed node by node.
void checkEdges(EvaluationContext& context, const Node& softmax) {
  const core::Shape& shape = context.graph().tensor(softmax.outputs.front()).shape;
  if (shape.rank() == 0 || shape.rank() > 2 || axisOf(context.graph(), softmax) != 0) return;
  if (!isScattered(context.graph(), softmax.outputs.front())) return;
  Finding finding =
      findingAtNode(context, softmax.id,
                    softmax.name + " runs over all rows of " + shape.text() +
                        ", and what it weighs is then summed group by group: the weights of one "
                        "group do not sum to 1");
  finding.advice =
      "Normalise within each group: subtract its maximum, exp, and divide by its sum (index_add).";
  context.findings.push_back(std::move(finding));
}

/// Vectors of length 1 along the axis that is not the one along which they are multiplied: no cosines.
void checkUnitVectors(EvaluationContext& context, const Node& product) {
  const Graph& graph = context.graph();
  const std::optional<UnitVectors> vectors = unitVectorsOf(graph, product);
  if (!vectors || !vectors->alongAnother) return;
  const std::size_t axis = *axisOfNorm(graph, *vectors->norm);
  const core::Shape& shape = graph.tensor(vectors->norm->inputs.front()).shape;
  const std::string summed = std::to_string(*vectors->summed);
  Finding finding =
      findingAtNode(context, vectors->norm->id,
                    "the norm runs along axis " + std::to_string(axis) + " of " + shape.text() + ", but " +
                        product.name + " multiplies along axis " + summed +
                        ": what it compares has no length of 1, and its products are no cosines");
  finding.advice = "Normalise along the axis that the product sums over, axis " + summed +
                   ": F.normalize(z, dim=" + summed + "), or z / sqrt(reduceSum(z * z, {" + summed + "})).";
  context.findings.push_back(std::move(finding));
}

/// The features that a Linear gives lie next to each other: classes that are normalised lie so too.
void checkFeatures(EvaluationContext& context, const Node& softmax) {
  const Graph& graph = context.graph();
  const bool log = softmax.opType == "LogSoftmax" || softmax.opType == "aten._log_softmax";
  if (!log || foreignAttribute<std::int64_t>(softmax, fact::kAxisStride, 1) <= 1) return;
  const Node* layer = linearOf(graph, softmax.inputs.front());
  const core::Shape& shape = graph.tensor(softmax.outputs.front()).shape;
  if (!layer || !shape.known() || shape.rank() < 3) return;
  Finding finding =
      findingAtNode(context, softmax.id,
                    "it runs along axis " + std::to_string(axisOf(graph, softmax)) + " of " + shape.text() +
                        ", and the classes that " + layer->name +
                        " gives are the last axis: what it normalises over are places, not classes");
  finding.advice = "F.cross_entropy takes [batch, classes, places]: transpose(1, 2), or flatten(0, 1).";
  context.findings.push_back(std::move(finding));
}

/// A Softmax, also one of PyTorch that reads a view and along another axis than the last.
bool isSoftmax(const Node& node) {
  static constexpr auto kTypes =
      std::to_array<std::string_view>({"Softmax", "aten._softmax", "aten._safe_softmax", "aten.softmax"});
  return isOneOf(&node, kTypes);
}

/// Probabilities times logarithms of others, as in a cross-entropy or a divergence, that were normalised
/// along another axis.
void checkCompared(EvaluationContext& context, const Node& product) {
  static constexpr auto kLogs = std::to_array<std::string_view>({"LogSoftmax", "aten._log_softmax"});
  const Graph& graph = context.graph();
  if (!isProduct(&product) || product.inputs.size() != 2) return;
  for (const std::size_t i : {0, 1}) {
    const Node* wanted = makerOf(graph, product.inputs[i]);
    if (!wanted || !isSoftmax(*wanted)) continue;
    for (const Summand& part : summandsOf(graph, product.inputs[1 - i])) {
      const Node* logs = makerOf(graph, unscaled(graph, part.tensor));
      const core::Shape& shape = graph.tensor(wanted->outputs.front()).shape;
      if (!isOneOf(logs, kLogs) || !(graph.tensor(logs->outputs.front()).shape == shape)) continue;
      const std::int64_t axis = axisOf(graph, *logs), other = axisOf(graph, *wanted);
      if (axis == other) continue;
      context.findings.push_back(findingAtNode(
          context, logs->id,
          "it runs along axis " + std::to_string(axis) + " of " + shape.text() + ", and " + wanted->name +
              ", whose probabilities " + product.name + " multiplies it with, along axis " +
              std::to_string(other) + ": the two are distributions of different things"));
      return;
    }
  }
}

void question(EvaluationContext& context) {
  for (const Node& node : context.graph().nodes()) {
    if (node.phase != core::Phase::kForward) continue;
    if (node.opType == "Softmax" || node.opType == "LogSoftmax")
      checkBatch(context, node), checkSingle(context, node);
    checkUnitVectors(context, node);
    checkCompared(context, node);
    checkFeatures(context, node);
    if (isSoftmax(node)) checkWeights(context, node), checkPicture(context, node), checkEdges(context, node);
    checkLoss(context, node);
  }
}

}  // namespace

ConditionDef softmaxAxisCondition() {
  ConditionDef def;
  def.id = "softmax_axis";
  def.title = "Softmax or norm along the wrong axis";
  def.doc =
      "From the graph: a softmax of [batch, classes] runs over the batch, or over a single class; or the "
      "weights [.., queries, keys] of an attention are normalised along another axis than the one that their "
      "product with the values sums "
      "over; or it runs along the rows or columns of a picture that a convolution gives; or the log_softmax "
      "that a loss is given ran along another axis than that of the classes; or it runs over all edges of a "
      "graph whose nodes sum what it weighs; or a log_softmax of what a Linear gives runs along another "
      "axis than its features; or probabilities are multiplied with the log_softmax of another axis. Vectors "
      "are divided by their "
      "norms along one axis, and their product sums over the other one.";
  def.advice = "Give softmax() the axis whose elements compete: the classes, or the keys of each query.";
  def.target = Target::kActivation;
  def.rowsOnly = true;
  def.make = [](const Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
