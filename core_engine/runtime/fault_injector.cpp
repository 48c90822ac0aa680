// Which node a fault hits, and what it does there.
#include <algorithm>
#include <cstring>
#include <limits>

#include "core_engine/base/text.h"
#include "core_engine/runtime/fault.h"

namespace msdbg::core {
namespace {

const TensorInfo& output(const Graph& graph, const Node& node) { return graph.tensor(node.outputs.front()); }

bool isParameterGradient(const Graph& graph, TensorId id) {
  const TensorId parameter = graph.tensor(id).gradientOf;
  return parameter.valid() && graph.tensor(parameter).trainable;
}

/// A normalisation's gradient node makes those of scale and bias beside that of its input.
bool makesParameterGradient(const Graph& graph, const Node& node) {
  return node.phase == Phase::kBackward &&
         std::ranges::any_of(node.outputs, [&](TensorId id) { return isParameterGradient(graph, id); });
}

/// The update of a bias (a Conv's, Gemm's or normalisation's third input, or one that is added) whose layer
/// feeds a Relu.
bool isReluBias(const Graph& graph, TensorId bias) {
  for (NodeId user : graph.consumers(bias)) {
    const Node& layer = graph.node(user);
    if (layer.phase != Phase::kForward) continue;
    if (layer.opType == "Cast" && isReluBias(graph, layer.outputs.front())) return true;
    const bool isBias = (layer.inputs.size() > 2 && layer.inputs[2] == bias) ||
                        (layer.opType == "Add" && graph.tensor(bias).shape.rank() == 1);
    if (!isBias) continue;
    for (NodeId next : graph.consumers(layer.outputs.front()))
      if (graph.node(next).opType == "Relu") return true;
  }
  return false;
}
bool updatesReluBias(const Graph& graph, const Node& node) {
  const TensorId parameter = output(graph, node).updateOf;
  return node.phase == Phase::kUpdate && parameter.valid() && isReluBias(graph, parameter);
}

/// Its first input is what it replaces.
bool updatesParameter(const Graph& graph, const Node& node) {
  const TensorId parameter = output(graph, node).updateOf;
  return node.phase == Phase::kUpdate && parameter.valid() && !node.inputs.empty() &&
         node.inputs.front() == parameter;
}

bool holdsNumbers(DType dtype) { return isComputedFloating(dtype) || isRounded(dtype); }

/// Whether this kind can hit the node at all.
bool canHit(FaultKind kind, const Graph& graph, const Node& node) {
  if (node.outputs.empty() || !holdsNumbers(output(graph, node).dtype)) return false;
  switch (kind) {
    case FaultKind::kNan:
    case FaultKind::kInf:
    case FaultKind::kWrongKernel:
    case FaultKind::kTruncateDtype:
      return true;
    case FaultKind::kWrongBackward:
      return node.phase == Phase::kBackward;
    case FaultKind::kBitflip:
      return node.phase == Phase::kCollective || node.phase == Phase::kUpdate;
    case FaultKind::kZeroGrad:
      return makesParameterGradient(graph, node);
    case FaultKind::kSkipAllreduce:
      return node.phase == Phase::kCollective;
    case FaultKind::kStaleWeight:
    case FaultKind::kLr:
      return updatesParameter(graph, node);
    case FaultKind::kDeadRelu:
      return updatesReluBias(graph, node);
  }
  return false;
}

std::string_view whatItHits(FaultKind kind) {
  switch (kind) {
    case FaultKind::kBitflip:
      return "an Allreduce or an update node";
    case FaultKind::kZeroGrad:
      return "a node that makes a parameter's gradient";
    case FaultKind::kSkipAllreduce:
      return "an Allreduce (there are none with one rank)";
    case FaultKind::kStaleWeight:
    case FaultKind::kLr:
      return "the update of a parameter";
    case FaultKind::kDeadRelu:
      return "the update of a bias that feeds a Relu";
    case FaultKind::kWrongBackward:
      return "a node of the backward phase";
    default:
      return "a node with a floating-point output";
  }
}

/// A glob, full name or unique part of it.
bool nameMatches(const std::string& pattern, const std::string& name) {
  return globMatch(pattern, name) || globMatch("*/" + pattern, name);
}

/// By its alias, or by the parameter that it is the gradient or the next value of.
bool outputMatches(const std::string& pattern, const Graph& graph, TensorId id) {
  const TensorInfo& t = graph.tensor(id);
  return (!t.alias.empty() && nameMatches(pattern, t.alias)) ||
         (t.updateOf.valid() && nameMatches(pattern, graph.tensor(t.updateOf).name)) ||
         (t.gradientOf.valid() && nameMatches(pattern, graph.tensor(t.gradientOf).name));
}

/// The parameter or gradient a node makes may be named instead of the node.
bool matches(const std::string& pattern, const Graph& graph, const Node& node) {
  return pattern.empty() || nameMatches(pattern, node.name) ||
         std::ranges::any_of(node.outputs, [&](TensorId id) { return outputMatches(pattern, graph, id); });
}

/// Which outputs are hit: the first; of gradients those named, or all where their node is.
std::vector<std::size_t> slotsHit(const FaultSpec& spec, const Graph& graph, const Node& node) {
  if (spec.kind != FaultKind::kZeroGrad) return {0};
  std::vector<std::size_t> gradients, named;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!isParameterGradient(graph, node.outputs[i])) continue;
    gradients.push_back(i);
    if (outputMatches(spec.node, graph, node.outputs[i])) named.push_back(i);
  }
  return named.empty() ? gradients : named;
}

/// A flipped bit of an activation contradicts nothing that ranks or updates tell: it is put there only where
/// nothing better matches what somebody named.
bool mayHit(const FaultSpec& spec, const Graph& graph, const Node& node) {
  return spec.kind == FaultKind::kBitflip && !spec.node.empty() && !node.outputs.empty() &&
         holdsNumbers(output(graph, node).dtype);
}

Result<NodeId> target(const FaultSpec& spec, const Graph& graph) {
  std::vector<std::string> names;
  bool matched = false;
  NodeId possible;
  for (const Node& node : graph.nodes()) {
    names.push_back(node.name);
    if (!matches(spec.node, graph, node)) continue;
    matched = true;
    if (canHit(spec.kind, graph, node)) return node.id;
    if (!possible.valid() && mayHit(spec, graph, node)) possible = node.id;
  }
  if (possible.valid()) return possible;
  const std::string where = "fault '" + spec.text + "': ";
  if (matched)
    return Error(ErrorCode::kUsage,
                 where +
                     (spec.node.empty() ? "the graph has no node" : "no node matching '" + spec.node + "'") +
                     " that it can hit; it needs " + std::string(whatItHits(spec.kind)));
  return Error(ErrorCode::kNotFound,
               where + "no node matches '" + spec.node + "'" + didYouMean(spec.node, names));
}

Status checkElement(const FaultSpec& spec, const Graph& graph, NodeId node) {
  const TensorInfo& out = output(graph, graph.node(node));
  const std::int64_t bits = static_cast<std::int64_t>(dtypeSize(out.dtype)) * 8;
  if (spec.element >= out.shape.elements())
    return Error(ErrorCode::kUsage, "fault '" + spec.text + "': element " + std::to_string(spec.element) +
                                        " is out of range; " + out.fullName() + " has " +
                                        std::to_string(out.shape.elements()) + " elements");
  const bool usesBit =
      spec.kind == FaultKind::kBitflip || !isRounded(out.dtype);  // which has fewer than the default
  if (usesBit && spec.bit >= bits)
    return Error(ErrorCode::kUsage, "fault '" + spec.text + "': bit must be below " + std::to_string(bits) +
                                        " for " + std::string(dtypeName(out.dtype)));
  return Ok{};
}

void setElement(Tensor& tensor, std::int64_t element, double value) {
  if (isRounded(tensor.dtype())) {
    const Tensor rounded = Tensor::scalar(value).cast(tensor.dtype());
    std::ranges::copy(rounded.byteSpan(), tensor.part(element, Shape{}).byteSpan().begin());
    return;
  }
  visitFloating(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    tensor.data<T>()[static_cast<std::size_t>(element)] = static_cast<T>(value);
  });
}

void fill(Tensor& tensor, double value) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) setElement(tensor, i, value);
}

void scaleBy(Tensor& tensor, double factor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) setElement(tensor, i, tensor.at(i) * factor);
}

void roundToBFloat16(Tensor& tensor) {
  const Tensor rounded = tensor.cast(DType::BFloat16);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) setElement(tensor, i, rounded.at(i));
}

void flipBit(Tensor& tensor, std::int64_t element, int bit) {
  const std::size_t size = dtypeSize(tensor.dtype());
  std::byte& b =
      tensor.byteSpan()[static_cast<std::size_t>(element) * size + static_cast<std::size_t>(bit / 8)];
  b ^= std::byte{1} << (bit % 8);  // little-endian, as the run folder is
}

void inject(const FaultSpec& spec, std::span<const Tensor* const> inputs, Tensor& out) {
  switch (spec.kind) {
    case FaultKind::kNan:
      return setElement(out, spec.element, std::numeric_limits<double>::quiet_NaN());
    case FaultKind::kInf:
      return setElement(out, spec.element, std::numeric_limits<double>::infinity());
    case FaultKind::kBitflip:
      return flipBit(out, spec.element, spec.bit);
    case FaultKind::kZeroGrad:
      return fill(out, 0.0);
    case FaultKind::kSkipAllreduce:  // the local sum instead of the global one
    case FaultKind::kStaleWeight:    // the value the update read
      std::memcpy(out.raw(), inputs.front()->raw(), out.bytes());
      return;
    case FaultKind::kDeadRelu:
      return fill(out, -1e3);
    case FaultKind::kWrongKernel:
    case FaultKind::kWrongBackward:
      return scaleBy(out, spec.scale);
    case FaultKind::kTruncateDtype:
      return roundToBFloat16(out);
    case FaultKind::kLr:
      return;  // learningRateScale()
  }
}

}  // namespace

Result<FaultInjector> FaultInjector::bind(const std::vector<FaultSpec>& specs, const Graph& graph,
                                          Rank rank) {
  FaultInjector injector;
  for (const FaultSpec& spec : specs) {
    MSDBG_ASSIGN(const NodeId node, target(spec, graph));
    MSDBG_TRY(checkElement(spec, graph, node));
    injector.m_faults.push_back(
        {spec, node, slotsHit(spec, graph, graph.node(node)), !spec.rank || *spec.rank == rank});
  }
  return injector;
}

double FaultInjector::learningRateScale(Iteration iteration) const {
  double scale = 1;
  for (const Bound& fault : m_faults)
    if (fault.here && fault.spec.kind == FaultKind::kLr && fault.spec.iteration == iteration)
      scale *= fault.spec.scale;
  return scale;
}

bool FaultInjector::hits(Iteration iteration, const Node& node) const {
  return std::ranges::any_of(m_faults, [&](const Bound& fault) {
    return fault.here && fault.node == node.id && fault.spec.iteration == iteration;
  });
}

void FaultInjector::afterNode(Iteration iteration, const Node& node, std::span<const Tensor* const> inputs,
                              std::span<Tensor* const> outputs) const {
  for (const Bound& fault : m_faults)
    if (fault.here && fault.node == node.id && fault.spec.iteration == iteration)
      for (const std::size_t slot : fault.hit) inject(fault.spec, inputs, *outputs[slot]);
}

std::vector<NodeId> FaultInjector::targets() const {
  std::vector<NodeId> nodes;
  for (const Bound& fault : m_faults) nodes.push_back(fault.node);
  return nodes;
}

}  // namespace msdbg::core
