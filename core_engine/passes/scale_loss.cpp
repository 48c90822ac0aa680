// Scaled losses, where something of a float32 graph is computed in float16 (Micikevicius and others 2018,
// "Mixed Precision Training"): gradients that would be too small for it are larger on their way back, and as
// they are again for the updates. The numbers are those of PyTorch's GradScaler:
//   seed  ->  Mul(seed, loss_scale)                          (differentiate)
//   g  ->  grad(p) = Mul(g, 1 / loss_scale)
//   all grad(p) finite  ->  updates; after 2,000 of them without a break loss_scale * 2
//   else                ->  no update; loss_scale / 2
// The scale and the count of good steps are states like any other: they are in checkpoints, and computed
// again with the rest. A norm of all gradients that is beyond float32 counts as not finite.
#include <algorithm>
#include <limits>

#include "core_engine/passes/update_nodes.h"

namespace msdbg::core {
namespace {

constexpr double kFirst = 65536, kGrowth = 2, kBackoff = 0.5;
constexpr double kMost = 0x1p126;  // so that it can be halved again
constexpr std::int64_t kGoodSteps = 2000;

/// Adds the few nodes that decide, in scope update/scale.
class Scaling {
 public:
  Scaling(Graph& graph, TrainingGraph& training) : m_graph(graph), m_training(training) {}

  TensorId number(const std::string& name, DType dtype, double value) {
    return addOptimizerSource(m_graph, "optimizer/" + name, TensorRole::kConstant, dtype, Shape{}, value,
                              lossFrames(m_graph, m_training));
  }
  TensorId node(std::string_view opType, std::vector<TensorId> inputs, TensorInfo output,
                Attributes attributes = {}) {
    const NodeId id = addGlobalNode(m_graph, opType, m_training, "scale", std::move(inputs),
                                    std::move(attributes), {std::move(output)});
    return m_graph.node(id).outputs.front();
  }
  TensorId chosen(TensorId condition, TensorId yes, TensorId no) {
    return node("Where", {condition, yes, no}, gradientInfo(m_graph.tensor(yes).dtype));
  }
  void next(TensorId state, TensorId condition, TensorId yes, TensorId no) {
    const TensorId after = node("Where", {condition, yes, no}, nextValueOf(m_graph.tensor(state)));
    m_graph.setAlias(after, "next(" + m_graph.tensor(state).name + ")");
  }

  /// Whether all gradients are, as the updates will read them but for clipping.
  TensorId finite() {
    TensorId sum;
    for (const auto& of : m_training.gradients) {
      const NodeId squares =
          addParameterNode(m_graph, "ReduceSumSquare", of.parameter, {of.gradient},
                           {{"keepdims", std::int64_t{0}}}, {gradientInfo(DType::Float32)});
      const TensorId one = m_graph.node(squares).outputs.front();
      sum = sum.valid() ? node("Add", {sum, one}, gradientInfo(DType::Float32)) : one;
    }
    const TensorId largest = number("largest", DType::Float32, std::numeric_limits<float>::max());
    const TensorId flag = node("Less", {sum, largest}, gradientInfo(DType::Bool));
    m_graph.setAlias(flag, "gradients_finite");
    return flag;
  }

  /// Of the iterations that update, where gradients are accumulated.
  void follow(TensorId finite, TensorId zero) {
    const TensorId scale = m_training.lossScale;
    const TensorId good = addOptimizerSource(m_graph, "optimizer/good_steps", TensorRole::kOptimizerState,
                                             DType::Int64, Shape{}, 0, lossFrames(m_graph, m_training));
    const TensorId counted = node("StepUpdate", {good}, gradientInfo(DType::Int64), {{"modulo", kGoodSteps}});
    const TensorId full = node("Equal", {counted, zero}, gradientInfo(DType::Bool));
    const TensorId raised =
        node("Min",
             {node("Mul", {scale, number("growth", DType::Float32, kGrowth)}, gradientInfo(DType::Float32)),
              number("most_scale", DType::Float32, kMost)},
             gradientInfo(DType::Float32));
    const TensorId lowered =
        node("Mul", {scale, number("backoff", DType::Float32, kBackoff)}, gradientInfo(DType::Float32));
    const TensorId kept = chosen(full, raised, scale);
    const std::int64_t every = m_training.optimizer.accumulate;
    if (every == 1) {
      next(scale, finite, kept, lowered);
      next(good, finite, counted, zero);
      return;
    }
    const TensorId last = number("last_micro_step", DType::Int64, static_cast<double>(every - 1));
    const TensorId due = node("Equal", {m_training.microStep, last}, gradientInfo(DType::Bool));
    next(scale, due, chosen(finite, kept, lowered), scale);
    next(good, due, chosen(finite, counted, zero), good);
  }

 private:
  Graph& m_graph;
  TrainingGraph& m_training;
};

}  // namespace

TensorId addLossScale(Graph& graph, const TrainingGraph& training) {
  const bool wanted = graph.floatingDType() == DType::Float32 &&
                      std::ranges::any_of(graph.tensors(), [](const TensorInfo& info) {
                        return info.dtype == DType::Float16 && !info.isSource();
                      });
  if (!wanted) return {};
  return addOptimizerSource(graph, "optimizer/loss_scale", TensorRole::kOptimizerState, DType::Float32,
                            Shape{}, kFirst, lossFrames(graph, training));
}

Status unscaleGradientsPass(Graph& graph, TrainingGraph& training) {
  if (!training.lossScale.valid()) return Ok{};
  Scaling scaling(graph, training);
  const TensorId inverse = scaling.node("Div", {scaling.number("one", DType::Float32, 1), training.lossScale},
                                        gradientInfo(DType::Float32));
  for (auto& [parameter, gradient] : training.gradients) {
    const std::string name = graph.tensor(parameter).name;
    graph.setAlias(gradient, "scaled_grad(" + name + ")");
    const TensorInfo scaled = graph.tensor(gradient);
    const NodeId node = addParameterNode(graph, "Mul", parameter, {gradient, inverse}, {},
                                         {gradientInfo(scaled.dtype, scaled.shape, parameter)});
    gradient = graph.node(node).outputs.front();
    graph.setAlias(gradient, "grad(" + name + ")");
  }
  return Ok{};
}

Status skipOverflowsPass(Graph& graph, TrainingGraph& training) {
  if (!training.lossScale.valid()) return Ok{};
  Scaling scaling(graph, training);
  training.finite = scaling.finite();
  const TensorId zero = scaling.number("no_step", DType::Int64, 0);
  const TensorId due =
      training.microStep.valid() ? training.microStep : scaling.number("step_due", DType::Int64, 1);
  training.every = std::max<std::int64_t>(training.optimizer.accumulate, 2);
  training.due = scaling.chosen(training.finite, due, zero);
  scaling.follow(training.finite, zero);
  return Ok{};
}

}  // namespace msdbg::core
