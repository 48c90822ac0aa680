#include "watchpoints/conditions/gradient_cause.h"

#include <algorithm>
#include <array>
#include <limits>

namespace msdbg::watch {

using core::Node;
using core::NodeId;
using core::Rank;
using core::TensorId;
using core::TensorInfo;
using core::TensorRole;

namespace {

double epsilonOf(core::DType dtype) {
  return dtype == core::DType::Float64 ? std::numeric_limits<double>::epsilon()
                                       : std::numeric_limits<float>::epsilon();
}

/// The gradient that an operator only carries on: sums over ranks, clipping, other shapes. Invalid: it does
/// more.
TensorId carriedOn(const core::Graph& graph, const Node& node) {
  static constexpr std::array<std::string_view, 11> kTypes = {
      "Allreduce", "AccumulateGradient", "Mul",     "Clip",      "Reshape", "Cast",
      "Identity",  "Transpose",          "Squeeze", "Unsqueeze", "Div"};
  if (std::ranges::find(kTypes, node.opType) == kTypes.end()) return {};
  const core::Shape& shape = graph.tensor(node.outputs.front()).shape;
  for (const TensorId input : node.inputs) {
    const TensorInfo& info = graph.tensor(input);
    const bool gradient = info.role == TensorRole::kGradient || isAccumulatedGradient(graph, info);
    if (!gradient || !info.shape.known() || !shape.known()) continue;
    if (info.shape.elements() == shape.elements()) return input;
  }
  return {};
}

/// Operators that sum their first input, the gradient of their result, over all but the channel.
bool sumsItsInput(const Node& node) {
  return node.opType == "ReduceSum" || node.opType == "ReduceMean" ||
         node.opType.ends_with("NormalizationGrad");
}

const core::TensorStatistics* statisticsOf(EvaluationContext& context, Rank rank, TensorId tensor) {
  const StatisticsRow* row = context.rows.now(rank, tensor);
  return row ? &row->values : nullptr;
}

}  // namespace

bool isShiftOfNormalised(const core::Graph& graph, TensorId parameter) {
  if (graph.tensor(parameter).shape.rank() != 1) return false;
  std::vector<TensorId> open;
  for (const NodeId user : graph.consumers(parameter)) {
    const Node& node = graph.node(user);
    if (node.phase != core::Phase::kForward) continue;
    const bool added = node.opType == "Add" || (node.inputs.size() > 2 && node.inputs[2] == parameter);
    if (!added || node.opType.ends_with("Normalization")) return false;
    open.push_back(node.outputs.front());
  }
  bool found = !open.empty();
  for (std::size_t i = 0; i < open.size() && found; ++i)
    for (const NodeId user : graph.consumers(open[i])) {
      const Node& node = graph.node(user);
      if (node.phase == core::Phase::kForward) found = found && node.opType == "BatchNormalization";
    }
  return found;
}

bool isRoundingNoise(EvaluationContext& context, Rank rank, TensorId gradient) {
  const core::Graph& graph = context.graph();
  const TensorId parameter = graph.tensor(gradient).gradientOf;
  while (gradient.valid() && !graph.tensor(gradient).isSource()) {
    const Node& node = graph.node(graph.tensor(gradient).producer);
    if (!sumsItsInput(node)) {
      gradient = carriedOn(graph, node);
      continue;
    }
    const core::TensorStatistics* sum = statisticsOf(context, rank, gradient);
    const core::TensorStatistics* parts = statisticsOf(context, rank, node.inputs.front());
    if (!sum || !parts || sum->nonFinite() + parts->nonFinite() > 0 || parts->l1 == 0) return false;
    const double share =
        node.opType == "ReduceMean"
            ? static_cast<double>(parts->count) / static_cast<double>(std::max<std::int64_t>(sum->count, 1))
            : 1;
    // Exactly zero is the residue of rounding only where the graph shows that it must be; a single sum may
    // cancel.
    if (sum->l1 == 0 && sum->count == 1) return true;
    if (sum->l1 == 0) return parameter.valid() && isShiftOfNormalised(graph, parameter);
    return sum->l1 * share <= 100 * epsilonOf(graph.tensor(gradient).dtype) * parts->l1;
  }
  return false;
}

namespace {

bool isActivationFunction(const Node& node) {
  static constexpr std::array<std::string_view, 12> kTypes = {
      "Relu", "LeakyRelu", "Elu",  "Sigmoid", "HardSigmoid", "HardSwish",
      "Tanh", "Clip",      "Gelu", "Softmax", "LogSoftmax",  "Softplus"};
  return std::ranges::find(kTypes, node.opType) != kTypes.end();
}

class ZeroWalk {
 public:
  ZeroWalk(EvaluationContext& context, Rank rank)
      : m_context(context), m_graph(context.graph()), m_rank(rank) {}

  ZeroCause from(TensorId tensor) {
    while (true) {
      const TensorInfo& info = m_graph.tensor(tensor);
      if (info.isSource()) return causeOfSource(info);
      const Node& node = m_graph.node(info.producer);
      m_reader =
          node.phase == core::Phase::kBackward && node.derivedFrom.valid() ? node.derivedFrom : node.id;
      const TensorId next = zeroInput(node);
      if (!next.valid()) return causeAt(node, tensor);
      tensor = next;
    }
  }

 private:
  using Kind = ZeroCause::Kind;
  enum class State { kUnknown, kZero, kNotZero };

  State stateOf(TensorId tensor) {
    if (!isFloating(m_graph.tensor(tensor).dtype)) return State::kNotZero;
    const core::TensorStatistics* values = statisticsOf(m_context, m_rank, tensor);
    if (!values) return State::kUnknown;
    return values->count > 0 && values->zero == values->count ? State::kZero : State::kNotZero;
  }

  /// X, weight or scale, bias: the third is added, so that it makes nothing zero.
  static bool isAdded(const Node& node, std::size_t input) {
    return input >= 2 &&
           (node.opType == "Gemm" || node.opType == "Conv" || node.opType.ends_with("Normalization"));
  }

  /// A gradient first: what comes from nearer the loss is nearer the cause.
  TensorId zeroInput(const Node& node) {
    TensorId zero;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId input = node.inputs[i];
      if (isAdded(node, i) || stateOf(input) != State::kZero) continue;
      if (m_graph.tensor(input).role == TensorRole::kGradient) return input;
      if (!zero.valid()) zero = input;
    }
    return zero;
  }

  ZeroCause causeOfSource(const TensorInfo& info) const {
    if (info.role == TensorRole::kParameter) return {Kind::kFactor, info.id, m_reader};
    if (info.role == TensorRole::kConstant) return {Kind::kConstant, info.id, m_reader};
    return {Kind::kData, info.id, m_reader};
  }

  ZeroCause causeAt(const Node& node, TensorId tensor) {
    const bool unknown =
        std::ranges::any_of(node.inputs, [&](TensorId input) { return stateOf(input) == State::kUnknown; });
    if (node.opType == "SoftmaxCrossEntropyLossGrad") return {Kind::kLoss, tensor, node.id};
    if (node.phase == core::Phase::kForward)
      return isActivationFunction(node) ? ZeroCause{Kind::kActivation, tensor, node.id}
             : unknown                  ? ZeroCause{}
                                        : ZeroCause{Kind::kHere, tensor, node.id};
    if (node.derivedFrom.valid() && node.phase == core::Phase::kBackward) {
      const Node& forward = m_graph.node(node.derivedFrom);
      if (isActivationFunction(forward)) return {Kind::kActivation, forward.outputs.front(), forward.id};
    }
    return unknown ? ZeroCause{} : ZeroCause{Kind::kHere, tensor, node.id};
  }

  EvaluationContext& m_context;
  const core::Graph& m_graph;
  Rank m_rank;
  NodeId m_reader;  // the forward operator that reads, or whose gradient reads, the last tensor
};

}  // namespace

ZeroCause zeroCause(EvaluationContext& context, Rank rank, TensorId tensor) {
  return ZeroWalk(context, rank).from(tensor);
}

}  // namespace msdbg::watch
