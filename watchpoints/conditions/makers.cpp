#include "watchpoints/conditions/makers.h"

#include <cmath>

#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;
using core::TensorRole;

const Node* producerOf(const Graph& graph, TensorId tensor) {
  const NodeId producer = graph.tensor(tensor).producer;
  return producer.valid() ? &graph.node(producer) : nullptr;
}

TensorId originOf(const Graph& graph, TensorId tensor) {
  static constexpr auto kMoves = std::to_array<std::string_view>(
      {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Cast", "Transpose", "Identity", "StopGradient"});
  for (const Node* node = producerOf(graph, tensor); isOneOf(node, kMoves); node = producerOf(graph, tensor))
    tensor = node->inputs.front();
  return tensor;
}

std::vector<std::pair<const core::Node*, core::TensorId>> forwardReaders(const core::Graph& graph,
                                                                         core::TensorId tensor) {
  std::vector<std::pair<const core::Node*, core::TensorId>> readers;
  for (const core::NodeId user : graph.consumers(tensor)) {
    const core::Node& node = graph.node(user);
    if (node.phase != core::Phase::kForward) continue;
    const bool lowers =
        node.isOwn() && node.opType == "Cast" && core::isFloating(graph.tensor(node.outputs.front()).dtype);
    if (!lowers) {
      readers.emplace_back(&node, tensor);
      continue;
    }
    const auto behind = forwardReaders(graph, node.outputs.front());
    readers.insert(readers.end(), behind.begin(), behind.end());
  }
  return readers;
}

const Node* makerOf(const Graph& graph, TensorId tensor) {
  return producerOf(graph, originOf(graph, tensor));
}

std::optional<double> constantOf(const Graph& graph, TensorId tensor) {
  using Kind = core::Initializer::Kind;
  const core::TensorInfo& info = graph.tensor(tensor);
  if (info.role != TensorRole::kConstant) return std::nullopt;
  if (info.value.valid()) return info.value.elements() == 1 ? std::optional(info.value.at(0)) : std::nullopt;
  if (info.initializer.kind == Kind::kZeros) return 0;
  return info.initializer.kind == Kind::kConstant ? std::optional(info.initializer.value) : std::nullopt;
}

std::optional<double> constantBeside(const Graph& graph, const Node& node, std::size_t operand) {
  if (node.inputs.size() > 1) return constantOf(graph, node.inputs[operand == 0 ? 1 : 0]);
  if (operand != 0) return std::nullopt;
  const double number = foreignAttribute(node, "other", std::nan(""));
  if (!std::isnan(number)) return number;
  const auto whole = foreignAttribute<std::int64_t>(node, "other", 0);
  return whole != 0 ? std::optional(static_cast<double>(whole)) : std::nullopt;
}

bool isSum(const Node* node) {
  static constexpr auto kSums = std::to_array<std::string_view>({"Add", "Sub", "aten.add", "aten.sub"});
  return isOneOf(node, kSums);
}

bool isProduct(const Node* node) {
  static constexpr auto kProducts = std::to_array<std::string_view>({"Mul", "aten.mul"});
  return isOneOf(node, kProducts);
}

bool isComparison(const Node& node) {
  static constexpr auto kDifferences = std::to_array<std::string_view>(
      {"Sub", "aten.sub", "aten.mse_loss", "aten.smooth_l1_loss", "aten.huber_loss", "aten.l1_loss"});
  return node.inputs.size() == 2 && isOneOf(&node, kDifferences);
}

static void addSummands(const Graph& graph, Summand part, int depth, std::vector<Summand>& parts) {
  constexpr int kDeepest = 8;
  const Node* node = producerOf(graph, part.tensor);
  if (depth > kDeepest || !isSum(node)) return parts.push_back(part);
  const bool difference = node->opType.ends_with("ub");
  addSummands(graph, {node->inputs[0], part.subtracted}, depth + 1, parts);
  if (node->inputs.size() > 1)  // else a number is added
    addSummands(graph, {node->inputs[1], part.subtracted != difference}, depth + 1, parts);
}

std::vector<Summand> summandsOf(const Graph& graph, TensorId tensor) {
  std::vector<Summand> parts;
  addSummands(graph, {tensor}, 0, parts);
  return parts;
}

TensorId squaredInput(const Graph& graph, TensorId tensor) {
  const Node* node = producerOf(graph, tensor);
  if (!node) return {};
  const bool product = isProduct(node);
  const bool square = node->opType.ends_with("ow") ||
                      (product && node->inputs.size() == 2 && node->inputs[0] == node->inputs[1]);
  return square ? node->inputs[0] : TensorId();
}

bool isData(const Graph& graph, TensorId tensor) {
  const TensorRole role = graph.tensor(tensor).role;
  return role == TensorRole::kInput || role == TensorRole::kLabel;
}

std::vector<bool> learntTensors(const Graph& graph) {
  std::vector<bool> learnt(graph.tensors().size());
  for (const core::TensorInfo& info : graph.tensors())
    learnt[info.id.index()] = info.role == TensorRole::kParameter;
  for (const Node& node : graph.nodes()) {
    const bool any = std::ranges::any_of(node.inputs, [&](TensorId input) { return learnt[input.index()]; });
    for (const TensorId output : node.outputs) learnt[output.index()] = any;
  }
  return learnt;
}

std::vector<bool> differentiatedNodes(const Graph& graph) {
  std::vector<bool> found(graph.nodes().size());
  for (const Node& node : graph.nodes())
    if (node.phase == core::Phase::kBackward && node.derivedFrom.valid())
      found[node.derivedFrom.index()] = true;
  return found;
}

std::vector<bool> differentiatedTensors(const Graph& graph) {
  std::vector<bool> learnt = learntTensors(graph);
  const std::vector<bool> differentiated = differentiatedNodes(graph);
  if (std::ranges::count(differentiated, true) == 0) return learnt;
  // The gradient of these is what comes back to them, as it is or a view of it: no operator computes it.
  static constexpr auto kPasses =
      std::to_array<std::string_view>({"Add", "Sub", "Concat", "ReduceSum", "Identity", "aten.add",
                                       "aten.sub", "aten.cat", "aten.stack", "aten.sum"});
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || differentiated[node.id.index()]) continue;
    const bool passes = isOneOf(&node, kPasses) &&
                        std::ranges::any_of(node.inputs, [&](TensorId in) { return learnt[in.index()]; });
    for (const TensorId output : node.outputs) learnt[output.index()] = passes;
  }
  return learnt;
}

std::vector<bool> madeFrom(const Graph& graph, TensorId tensor) {
  std::vector<bool> made(graph.tensors().size());
  made[tensor.index()] = true;
  for (const Node& node : graph.nodes())
    if (std::ranges::any_of(node.inputs, [&](TensorId input) { return made[input.index()]; }))
      for (const TensorId output : node.outputs) made[output.index()] = true;
  return made;
}

std::vector<bool> partsOf(const Graph& graph, TensorId tensor) {
  return partsOf(graph, std::span<const TensorId>(&tensor, 1));
}

std::vector<bool> partsOf(const Graph& graph, std::span<const TensorId> tensors) {
  std::vector<bool> parts(graph.tensors().size());
  for (const TensorId tensor : tensors) parts[tensor.index()] = true;
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (std::ranges::any_of(node.outputs, [&](TensorId output) { return parts[output.index()]; }))
      for (const TensorId input : node.inputs) parts[input.index()] = true;
  }
  return parts;
}

TensorId unscaled(const Graph& graph, TensorId tensor) {
  static constexpr auto kScales = std::to_array<std::string_view>({"Mul", "Div", "aten.mul", "aten.div"});
  for (int steps = 0; steps < 6; ++steps) {
    const Node* node = producerOf(graph, tensor);
    if (!node) return tensor;
    if (node->opType == "Neg") {
      tensor = node->inputs[0];
      continue;
    }
    if (!isOneOf(node, kScales)) return tensor;
    const bool quotient = node->opType.ends_with("iv");
    const std::size_t factors = quotient ? 1 : node->inputs.size();
    std::size_t scaled = 0;
    while (scaled < factors && !constantBeside(graph, *node, scaled)) ++scaled;
    if (scaled == factors) return tensor;
    tensor = node->inputs[scaled];
  }
  return tensor;
}

NodeId maskMaker(const Graph& graph, TensorId mask) {
  static constexpr auto kMakers = std::to_array<std::string_view>(
      {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Trilu", "aten.ne"});
  constexpr std::size_t kMost = 64;
  std::vector<TensorId> open{mask};
  for (std::size_t i = 0; i < open.size() && i < kMost; ++i) {
    const Node* node = producerOf(graph, open[i]);
    if (isOneOf(node, kMakers)) return node->id;
    if (node) open.insert(open.end(), node->inputs.begin(), node->inputs.end());
  }
  return graph.tensor(mask).producer;
}

}  // namespace msdbg::watch
