#include "core_engine/autodiff/autodiff.h"

#include <algorithm>

#include "core_engine/graph/graph_text.h"
#include "core_engine/ops/op.h"

namespace msdbg::core {
namespace {

/// One run of reverse mode over a graph. Node and tensor references are re-fetched after every addNode(),
/// which may move the tables.
class ReverseMode : private GradientBuilder {
 public:
  ReverseMode(Graph& graph, TensorId loss, TensorId scale)
      : m_graph(graph), m_loss(loss), m_scale(scale), m_forwardNodes(graph.nodes().size()) {}

  Result<std::map<TensorId, TensorId>> run(double seed) {
    markWanted();
    if (!m_wanted[m_loss.index()])
      return Error(ErrorCode::kUsage, "loss " + m_graph.tensor(m_loss).name +
                                          " depends on no trainable parameter" + whatStops());
    m_current = m_graph.tensor(m_loss).producer;
    Value begin = addSeed(seed);
    if (m_scale.valid()) begin = apply1("Mul", {begin, Value(m_graph, m_scale)});
    m_contributions[m_loss].push_back({m_forwardNodes, begin});
    for (std::size_t i = m_forwardNodes; i-- > 0;) {
      MSDBG_TRY(visit(NodeId(static_cast<std::int64_t>(i))));
    }
    return m_parameterGradients;
  }

 private:
  struct Contribution {
    std::size_t consumer;  // order of the forward node it came through
    Value value;
  };

  /// A tensor is wanted when it is a trainable parameter or a mutable input, or computed from one, in
  /// floating-point numbers, by operators that let gradients through.
  void markWanted() {
    m_wanted.assign(m_graph.tensors().size(), false);
    for (const TensorInfo& t : m_graph.tensors())
      m_wanted[t.id.index()] = t.isSource() && t.trainable && isFloating(t.dtype);
    for (const Node& node : m_graph.nodes()) {
      const OpDef* op = findOp(node);
      const bool any =
          !(op && op->stopsGradients) && std::any_of(node.inputs.begin(), node.inputs.end(),
                                                     [&](TensorId t) { return m_wanted[t.index()]; });
      for (TensorId t : node.outputs) m_wanted[t.index()] = any && isFloating(m_graph.tensor(t).dtype);
    }
  }

  /// "; no gradient comes back through ArgMax (train.cpp:12)": of what the loss is made of, parameters behind
  /// it, the last.
  std::string whatStops() const {
    std::vector<bool> leads(m_graph.tensors().size());
    leads[m_loss.index()] = true;
    for (std::size_t i = m_forwardNodes; i-- > 0;) {
      const Node& node = m_graph.nodes()[i];
      if (!std::ranges::any_of(node.outputs, [&](TensorId t) { return leads[t.index()]; })) continue;
      if (std::ranges::any_of(node.inputs, [&](TensorId t) { return m_wanted[t.index()]; }))
        return "; no gradient comes back through " + nodeWithLine(m_graph, node);
      for (const TensorId input : node.inputs) leads[input.index()] = true;
    }
    return "";
  }

  Value addSeed(double seed) {
    const TensorInfo& loss = m_graph.tensor(m_loss);
    TensorInfo info;
    info.name = m_graph.uniqueName("grad/" + m_graph.name() + "/seed");
    info.dtype = loss.dtype;
    info.shape = loss.shape;
    info.role = TensorRole::kConstant;
    info.replicated = true;
    info.initializer = {Initializer::Kind::kConstant, seed};
    info.frames = m_graph.node(loss.producer).frames;
    return Value(m_graph, m_graph.addSource(std::move(info)));
  }

  Status visit(NodeId id) {
    m_current = id;
    const Node node = m_graph.node(id);
    bool flows = false;
    m_outputGradients.assign(node.outputs.size(), std::nullopt);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      m_outputGradients[i] = total(node.outputs[i]);
      flows |= m_outputGradients[i].has_value();
    }
    const bool anyWanted =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId t) { return m_wanted[t.index()]; });
    if (flows && anyWanted) MSDBG_TRY(differentiate(node));
    // The earliest consumer of a parameter is visited last: then its gradient is complete.
    for (TensorId input : node.inputs) {
      if (isParameter(input) && m_graph.consumers(input).front() == id) finishParameter(input);
    }
    return Ok{};
  }

  Status differentiate(const Node& node) {
    const OpDef* op = findOp(node);
    if (!op || !op->gradient)
      return Error(ErrorCode::kUsage, nodeWithLine(m_graph, node) + ": operator " + node.opType +
                                          " has no gradient rule, but a trainable parameter lies behind it");
    const std::vector<std::optional<Value>> gradients = op->gradient(*this);
    if (gradients.size() != node.inputs.size())
      return Error(ErrorCode::kInternal, nodeWithLine(m_graph, node) + ": gradient rule of " + node.opType +
                                             " gave " + std::to_string(gradients.size()) + " gradients for " +
                                             std::to_string(node.inputs.size()) + " inputs");
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i] || !wanted(i)) continue;
      if (gradients[i]->shape() != m_graph.tensor(node.inputs[i]).shape)
        return Error(ErrorCode::kInternal, nodeWithLine(m_graph, node) + ": gradient of input " +
                                               std::to_string(i) + " has shape " +
                                               gradients[i]->shape().text());
      m_contributions[node.inputs[i]].push_back({node.id.index(), *gradients[i]});
    }
    return Ok{};
  }

  /// The sum of all contributions to a tensor, in consumer order.
  std::optional<Value> total(TensorId tensor) {
    const auto found = m_contributions.find(tensor);
    if (found == m_contributions.end()) return std::nullopt;
    std::vector<Contribution>& all = found->second;
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.consumer < b.consumer; });
    Value sum = all.front().value;
    for (std::size_t i = 1; i < all.size(); ++i) sum = apply1("Add", {sum, all[i].value});
    TensorInfo& info = m_graph.tensor(sum.id());
    if (info.role == TensorRole::kGradient && !info.gradientOf.valid()) info.gradientOf = tensor;
    return sum;
  }

  bool isParameter(TensorId id) const {
    const TensorInfo& t = m_graph.tensor(id);
    return t.isSource() && t.trainable;
  }

  void finishParameter(TensorId parameter) {
    if (m_parameterGradients.contains(parameter)) return;
    std::optional<Value> gradient = total(parameter);
    if (!gradient) return;
    // A gradient that is handed through unchanged (Add's) serves two tensors; a node of its own keeps names
    // unique.
    if (m_graph.tensor(gradient->id()).gradientOf != parameter) gradient = apply1("Identity", {*gradient});
    TensorInfo& info = m_graph.tensor(gradient->id());
    info.gradientOf = parameter;
    m_parameterGradients.emplace(parameter, gradient->id());
  }

  // --- GradientBuilder ---
  const Node& forward() const override { return m_graph.node(m_current); }
  Value input(std::size_t i) const override { return Value(m_graph, forward().inputs.at(i)); }
  Value output(std::size_t i) const override { return Value(m_graph, forward().outputs.at(i)); }
  std::optional<Value> outputGradient(std::size_t i) const override { return m_outputGradients.at(i); }
  bool wanted(std::size_t i) const override {
    return i < forward().inputs.size() && m_wanted[forward().inputs[i].index()];
  }

  std::vector<Value> apply(std::string_view opType, std::vector<Value> inputs,
                           Attributes attributes) override {
    const OpDef* op = findOp(opType);
    assert(op && "gradient rules use registered operators only");
    std::vector<TensorType> types;
    std::vector<TensorId> ids;
    for (const Value& v : inputs) {
      types.push_back({v.dtype(), v.shape()});
      ids.push_back(v.id());
    }
    Result<std::vector<TensorType>> inferred = op->infer(types, attributes);
    if (!inferred)
      throw BuildError("gradient of " + nodeWithLine(m_graph, forward()) + ": " + inferred.error().message());
    std::vector<TensorInfo> outputs;
    for (const TensorType& type : *inferred) {
      TensorInfo info;
      info.dtype = type.dtype;
      info.shape = type.shape;
      info.role = TensorRole::kGradient;
      outputs.push_back(std::move(info));
    }
    const std::string scope = "grad/" + forward().scope;
    const std::vector<FrameId> frames = forward().frames;
    const NodeId id = m_graph.addNode(std::string(opType), scope, Phase::kBackward, std::move(ids),
                                      std::move(attributes), std::move(outputs), frames, m_current);
    std::vector<Value> values;
    for (TensorId t : m_graph.node(id).outputs) values.emplace_back(m_graph, t);
    return values;
  }

  Graph& m_graph;
  TensorId m_loss, m_scale;
  std::size_t m_forwardNodes;
  std::vector<bool> m_wanted;
  NodeId m_current;
  std::vector<std::optional<Value>> m_outputGradients;
  std::map<TensorId, std::vector<Contribution>> m_contributions;
  std::map<TensorId, TensorId> m_parameterGradients;
};

}  // namespace

Result<std::map<TensorId, TensorId>> addGradients(Graph& graph, TensorId loss, double seed, TensorId scale) {
  const TensorInfo& info = graph.tensor(loss);
  if (!info.producer.valid() || !info.shape.known() || info.shape.elements() != 1 || !isFloating(info.dtype))
    return Error(ErrorCode::kUsage, "loss " + info.fullName() +
                                        " must be one floating-point number, but is " +
                                        std::string(dtypeName(info.dtype)) + info.shape.text());
  try {
    return ReverseMode(graph, loss, scale).run(seed);
  } catch (const BuildError& error) {
    return Error(ErrorCode::kInternal, error.what());
  }
}

}  // namespace msdbg::core
