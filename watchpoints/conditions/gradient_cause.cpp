#include "watchpoints/conditions/gradient_cause.h"

#include <algorithm>
#include <array>

#include "watchpoints/conditions/key_shift.h"
#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Node;
using core::NodeId;
using core::Rank;
using core::TensorId;
using core::TensorInfo;
using core::TensorRole;

namespace {

const core::TensorStatistics* statisticsOf(EvaluationContext& context, Rank rank, TensorId tensor) {
  const StatisticsRow* row = context.rows.now(rank, tensor);
  return row ? &row->values : nullptr;
}

/// 0: nobody knows. DDP makes other buckets after the first iteration, so that shapes vary.
std::int64_t elementsOf(EvaluationContext& context, Rank rank, TensorId tensor) {
  const core::Shape& shape = context.graph().tensor(tensor).shape;
  if (shape.known()) return shape.elements();
  const core::TensorStatistics* now = statisticsOf(context, rank, tensor);
  return now ? now->count : 0;
}

/// The gradient that an operator only carries on as one of its outputs: sums over ranks, clipping, other
/// shapes. Invalid: it does more.
TensorId carriedOn(EvaluationContext& context, Rank rank, const Node& node, TensorId output) {
  const core::Graph& graph = context.graph();
  if (node.opType.starts_with("aten._foreach_mul") || node.opType.starts_with("aten._foreach_div")) {
    const auto slot = static_cast<std::size_t>(graph.tensor(output).slot);  // many gradients at once
    return slot < node.inputs.size() ? node.inputs[slot] : TensorId();
  }
  static constexpr std::array<std::string_view, 11> kTypes = {
      "Allreduce", "AccumulateGradient", "Mul",     "Clip",      "Reshape", "Cast",
      "Identity",  "Transpose",          "Squeeze", "Unsqueeze", "Div"};
  if (std::ranges::find(kTypes, node.opType) == kTypes.end()) return {};
  const std::int64_t size = elementsOf(context, rank, node.outputs.front());
  for (const TensorId input : node.inputs) {
    const TensorInfo& info = graph.tensor(input);
    const bool gradient = info.role == TensorRole::kGradient || isAccumulatedGradient(graph, info);
    if (gradient && size > 0 && elementsOf(context, rank, input) == size) return input;
  }
  return {};
}

/// Operators that sum their first input, the gradient of their result, over all but the channel. "aten.sum":
/// of a view that the recorder left out, so that its axes are no longer those of what it reads.
bool sumsItsInput(const core::Graph& graph, const Node& node, TensorId output) {
  if (node.opType == "aten.convolution_backward")  // of input, weight and bias, as many as are wanted
    return output == node.outputs.back() && graph.tensor(output).shape.rank() == 1;
  return node.opType == "ReduceSum" || node.opType == "aten.sum" || node.opType == "ReduceMean" ||
         node.opType.ends_with("NormalizationGrad");
}

/// What the layers give that the parameter is a bias of; empty if it is read in any other way too.
std::vector<TensorId> shiftedBy(const core::Graph& graph, TensorId parameter) {
  std::vector<TensorId> shifted;
  for (const auto& [node, read] : forwardReaders(graph, parameter)) {
    const bool added = node->opType == "Add" || (node->inputs.size() > 2 && node->inputs[2] == read);
    if (!added || node->opType.ends_with("Normalization")) return {};
    shifted.push_back(node->outputs.front());
  }
  return shifted;
}

/// Whether all that reads the tensors, or their parts, is a BatchNormalization, or takes one from another.
bool isTakenOut(const core::Graph& graph, std::vector<TensorId> shifted) {
  static constexpr auto kParts = std::to_array<std::string_view>(
      {"Split", "Slice", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Cast"});
  std::vector<const Node*> differences;
  for (std::size_t i = 0; i < shifted.size(); ++i)
    for (const NodeId user : graph.consumers(shifted[i])) {
      const Node& node = graph.node(user);
      if (node.phase != core::Phase::kForward || node.opType == "BatchNormalization") continue;
      if (node.opType == "Sub")
        differences.push_back(&node);
      else if (std::ranges::find(kParts, node.opType) != kParts.end())
        shifted.insert(shifted.end(), node.outputs.begin(), node.outputs.end());
      else
        return false;
    }
  const auto isShifted = [&](TensorId input) { return std::ranges::find(shifted, input) != shifted.end(); };
  return std::ranges::all_of(differences,
                             [&](const Node* node) { return std::ranges::all_of(node->inputs, isShifted); });
}

}  // namespace

bool isShiftTakenOut(const core::Graph& graph, TensorId parameter) {
  if (graph.tensor(parameter).shape.rank() != 1) return false;
  std::vector<TensorId> shifted = shiftedBy(graph, parameter);
  return !shifted.empty() && isTakenOut(graph, std::move(shifted));
}

bool leadsToParameters(const core::Graph& graph, TensorId from) {
  std::vector<bool> seen(graph.tensors().size());
  std::vector<TensorId> open{from};
  while (!open.empty()) {
    const TensorId tensor = open.back();
    open.pop_back();
    for (const NodeId user : graph.consumers(tensor)) {
      const Node& node = graph.node(user);
      if (node.phase != core::Phase::kForward) continue;
      if (std::ranges::any_of(node.inputs, [&](TensorId input) {
            return graph.tensor(input).role == TensorRole::kParameter;
          }))
        return true;
      for (const TensorId output : node.outputs)
        if (!seen[output.index()]) seen[output.index()] = true, open.push_back(output);
    }
  }
  return false;
}

namespace {

/// What is summed over all but the channel is so small against its terms that rounding may have left it.
bool isNoiseOfSum(EvaluationContext& context, Rank rank, TensorId gradient, TensorId parameter) {
  const Node& node = context.graph().node(context.graph().tensor(gradient).producer);
  const core::TensorStatistics* sum = statisticsOf(context, rank, gradient);
  const core::TensorStatistics* parts = statisticsOf(context, rank, node.inputs.front());
  if (!sum || !parts || sum->nonFinite() + parts->nonFinite() > 0 || parts->l1 == 0) return false;
  const double share =
      node.opType == "ReduceMean"
          ? static_cast<double>(parts->count) / static_cast<double>(std::max<std::int64_t>(sum->count, 1))
          : 1;
  // What the rounding of a softmax leaves is not bounded by the terms.
  if (parameter.valid() && isShiftOfKeys(context.graph(), parameter)) return true;
  // Exactly zero is the residue of rounding only where the graph shows that it must be; a single sum may
  // cancel.
  if (sum->l1 == 0 && sum->count == 1) return true;
  if (sum->l1 == 0) return parameter.valid() && isShiftTakenOut(context.graph(), parameter);
  return sum->l1 * share <=
         100 * core::floatLimits(context.graph().tensor(gradient).dtype).epsilon * parts->l1;
}

/// The parts of several uses cancel but for rounding, as those of a bias in the distance of two outputs.
bool usesCancel(EvaluationContext& context, Rank rank, const Node& sum) {
  const core::TensorStatistics* all = statisticsOf(context, rank, sum.outputs.front());
  double parts = 0;
  for (const TensorId input : sum.inputs) {
    const core::TensorStatistics* part = statisticsOf(context, rank, input);
    if (!part || part->nonFinite() > 0) return false;
    parts += part->l1;
  }
  const double epsilon = core::floatLimits(context.graph().tensor(sum.outputs.front()).dtype).epsilon;
  return all && all->nonFinite() == 0 && all->l1 > 0 && all->l1 <= 100 * epsilon * parts;
}

/// A normalisation may take it out again, and nobody sees which.
bool mayBeShift(const core::Graph& graph, TensorId parameter) {
  return parameter.valid() && graph.tensor(parameter).shape.rank() <= 1;
}

/// DDP sums the gradients of many parameters in one bucket: which part of it is whose nobody sees.
bool isFromBucket(EvaluationContext& context, Rank rank, const Node& node, TensorId parameter) {
  const core::Graph& graph = context.graph();
  if (!parameter.valid() || !graph.tensor(parameter).shape.known()) return false;
  const std::int64_t own = graph.tensor(parameter).shape.elements();
  return std::ranges::any_of(node.inputs, [&](TensorId input) {
    return graph.tensor(input).role == TensorRole::kGradient && elementsOf(context, rank, input) > own;
  });
}

/// Of a parameter that is used several times each use brings its part: all of them have to be noise.
bool isNoise(EvaluationContext& context, Rank rank, TensorId gradient, TensorId parameter, int depth) {
  constexpr int kDeepest = 64;
  const core::Graph& graph = context.graph();
  while (gradient.valid() && !graph.tensor(gradient).isSource() && depth++ < kDeepest) {
    const Node& node = graph.node(graph.tensor(gradient).producer);
    if (sumsItsInput(graph, node, gradient)) return isNoiseOfSum(context, rank, gradient, parameter);
    if (isSumOfUses(node)) {
      if (usesCancel(context, rank, node)) return true;
      // What zero_grad(set_to_none=False) left is a part, too.
      const auto isZero = [&](TensorId part) {
        const core::TensorStatistics* row = statisticsOf(context, rank, part);
        return row && row->count > 0 && row->zero == row->count;
      };
      return !std::ranges::all_of(node.inputs, isZero) &&
             std::ranges::all_of(node.inputs, [&](TensorId part) {
               return isZero(part) || isNoise(context, rank, part, parameter, depth);
             });
    }
    if (isWithoutOperators(graph, node)) return mayBeShift(graph, parameter);
    const TensorId carried = carriedOn(context, rank, node, gradient);
    if (!carried.valid() || node.phase == core::Phase::kCollective)
      if (isFromBucket(context, rank, node, parameter)) return mayBeShift(graph, parameter);
    gradient = carried;
  }
  return false;
}

}  // namespace

bool isWithoutOperators(const core::Graph& graph, const Node& node) {
  if (node.domain == "torch.nn") return true;
  if (node.domain != "autograd") return false;
  const core::Shape& shape = graph.tensor(node.outputs.front()).shape;
  return std::ranges::none_of(node.inputs, [&](TensorId input) {
    const TensorInfo& info = graph.tensor(input);
    if (info.producer.valid() && graph.node(info.producer).domain == "torch.nn") return false;  // a module's
    const bool known = info.shape.known() && shape.known();  // sizes that vary are not
    return info.role == TensorRole::kGradient && (!known || info.shape.elements() == shape.elements());
  });
}

bool isSumOfUses(const Node& node) {
  const bool adds = node.opType == "Add" || node.opType == "aten.add" || node.opType == "aten.add_";
  return adds && node.phase == core::Phase::kBackward && node.inputs.size() == 2;
}

bool isRoundingNoise(EvaluationContext& context, Rank rank, TensorId gradient) {
  return isNoise(context, rank, gradient, context.graph().tensor(gradient).gradientOf, 0);
}

namespace {

// Of which a gradient may come out as zero.
bool mayStopGradients(const Node& node) {
  static constexpr std::array<std::string_view, 4> kOthers = {"Clip", "Softplus", "Max", "Min"};
  if (node.opType == "LeakyRelu" || node.opType == "PRelu") return false;  // they have a slope everywhere
  return isActivationFunction(node) || std::ranges::find(kOthers, node.opType) != kOthers.end();
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

  /// The zero that the gradient of a choice (Max, Where) has where the other one was chosen.
  bool isNotChosen(const Node& node, std::size_t place, TensorId input) const {
    return node.opType == "Where" && node.phase == core::Phase::kBackward && place > 0 &&
           m_graph.tensor(input).role == TensorRole::kConstant;
  }

  /// Zeros that a backward pass made to write into.
  bool isFresh(TensorId tensor) const {
    static constexpr std::array<std::string_view, 4> kMake = {"aten.zeros", "aten.new_zeros",
                                                              "aten.zeros_like", "aten.new_full"};
    const TensorInfo& info = m_graph.tensor(tensor);
    return !info.isSource() && std::ranges::find(kMake, m_graph.node(info.producer).opType) != kMake.end();
  }

  /// A whole recurrent layer: the state that it begins with is zero, and has a part in none of its gradients
  /// but one.
  static bool isRecurrent(const Node& node) {
    return node.opType.find("rnn") != std::string::npos || node.opType.find("lstm") != std::string::npos ||
           node.opType.find("gru") != std::string::npos;
  }

  /// A gradient first: what comes from nearer the loss is nearer the cause.
  TensorId zeroInput(const Node& node) {
    TensorId zero;
    const auto inputs = m_context.inputs(m_rank, node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const TensorId input = inputs[i];
      if (isRecurrent(node) && isFresh(input)) continue;
      if (isAdded(node, i) || isNotChosen(node, i, input) || stateOf(input) != State::kZero) continue;
      if (m_graph.tensor(input).role == TensorRole::kGradient && !isFresh(input)) return input;
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
    const bool unknown = std::ranges::any_of(
        m_context.inputs(m_rank, node), [&](TensorId input) { return stateOf(input) == State::kUnknown; });
    if (node.opType == "SoftmaxCrossEntropyLossGrad") return {Kind::kLoss, tensor, node.id};
    if (node.phase == core::Phase::kForward)
      return mayStopGradients(node) ? ZeroCause{Kind::kActivation, tensor, node.id}
             : unknown              ? ZeroCause{}
                                    : ZeroCause{Kind::kHere, tensor, node.id};
    if (node.derivedFrom.valid() && node.phase == core::Phase::kBackward) {
      const Node& forward = m_graph.node(node.derivedFrom);
      if (mayStopGradients(forward)) return {Kind::kActivation, forward.outputs.front(), forward.id};
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
