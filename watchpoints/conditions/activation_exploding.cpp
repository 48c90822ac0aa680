// Values that grow from layer to layer before anything was learnt: the first iteration shows it, and the end
// of the run whether it mattered.
#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <string_view>
#include <vector>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/outcome.h"

namespace msdbg::watch {
namespace {

using core::Node;
using core::TensorId;

class ActivationExploding : public Evaluator {
 public:
  explicit ActivationExploding(const core::Graph& graph) : m_outcome(graph) {}

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    if (m_asked || context.ranks.empty()) return;
    m_asked = true;
    ++context.evaluated;
    if (const Node* end = firstTooLarge(context)) m_finding = findingOf(context, *end);
  }

  void finish(EvaluationContext& context) override {
    if (!m_finding) return;
    // A loss that is still as large as what exploded has recovered from nothing, however much it fell.
    const bool huge = !m_outcome.losses().empty() && m_outcome.losses().back().value > m_limit;
    if (huge || !m_outcome.recoveredSince(m_finding->iteration))
      context.findings.push_back(std::move(*m_finding));
  }

 private:
  static constexpr double kGrowth = 1.4;  // of an operator's output against its largest input
  static constexpr double kAlone = 1000;

  double sizeOf(EvaluationContext& context, TensorId tensor) const {
    if (!isFloating(context.graph().tensor(tensor).dtype)) return 0;
    const StatisticsRow* row = context.rows.now(context.rankWith(tensor), tensor);
    return row ? row->values.meanAbs : 0;
  }

  /// The largest thing that a forward operator reads, parameters aside.
  TensorId largestInput(EvaluationContext& context, const Node& node) const {
    TensorId largest;
    for (const TensorId input : node.inputs) {
      if (context.graph().tensor(input).role == core::TensorRole::kParameter) continue;
      if (!largest.valid() || sizeOf(context, input) > sizeOf(context, largest)) largest = input;
    }
    return largest;
  }

  double limitOf(EvaluationContext& context) const {
    double data = 1;
    for (const core::TensorInfo& info : context.graph().tensors())
      if (info.role == core::TensorRole::kInput) data = std::max(data, sizeOf(context, info.id));
    return parameterOr(context.parameters, "growth_gt", 1e4) * data;
  }

  const Node* firstTooLarge(EvaluationContext& context) {
    const double limit = m_limit = limitOf(context);
    const core::Graph& graph = context.graph();
    m_given.assign(graph.tensors().size(), false);
    for (const core::TensorInfo& info : graph.tensors())
      m_given[info.id.index()] =
          info.role == core::TensorRole::kConstant || info.role == core::TensorRole::kInput;
    for (const Node& node : graph.nodes()) {
      if (node.phase != core::Phase::kForward) continue;
      const core::TensorInfo& output = graph.tensor(node.outputs.front());
      if (isGiven(context, node)) {
        for (const TensorId each : node.outputs) m_given[each.index()] = true;
        continue;
      }
      if (output.shape.rank() > 0 && sizeOf(context, output.id) > limit) return &node;
    }
    return nullptr;
  }

  /// What is computed of constants and data alone, as a mask of -1e9 is, went through no layer; nor is it
  /// growth where such a large value is only carried on, as in scores + mask.
  bool isGiven(EvaluationContext& context, const Node& node) const {
    if (std::ranges::all_of(node.inputs, [&](TensorId input) { return m_given[input.index()]; })) return true;
    if (node.opType.starts_with("aten.masked_fill")) return true;  // by a number that the program names
    static constexpr auto kProducts =
        std::to_array<std::string_view>({"Mul", "Div", "Pow", "MatMul", "Gemm", "Conv"});
    if (std::ranges::find(kProducts, node.opType) != kProducts.end()) return false;
    const double size = sizeOf(context, node.outputs.front());
    return std::ranges::any_of(node.inputs, [&](TensorId input) {
      return m_given[input.index()] && size <= kGrowth * sizeOf(context, input);
    });
  }

  /// Back to where the growth begins, past operators that only keep the size, four in a row at most; or to
  /// the one that makes most of it alone.
  const Node& beginOfGrowth(EvaluationContext& context, const Node& end) const {
    const core::Graph& graph = context.graph();
    const Node *node = &end, *steepest = &end;
    double most = 0;
    std::vector<std::pair<double, const Node*>> grown;  // back from the end
    for (int idle = 0; idle < 4;) {
      const TensorId input = largestInput(context, *node);
      if (!input.valid() || sizeOf(context, input) == 0) break;  // indices have no size
      const double growth = sizeOf(context, node->outputs.front()) / sizeOf(context, input);
      idle = growth > kGrowth ? 0 : idle + 1;
      if (growth > kGrowth) grown.emplace_back(growth, node);
      if (growth > most) most = growth, steepest = node;
      if (graph.tensor(input).isSource()) break;
      node = &graph.node(graph.tensor(input).producer);
    }
    // Where each layer makes forty times of what it reads, a factor of two before them is not the beginning.
    const auto first = std::ranges::find_if(grown | std::views::reverse,
                                            [&](const auto& one) { return one.first * one.first >= most; });
    return most > kAlone || first == std::ranges::rend(grown) ? *steepest : *first->second;
  }

  /// How many numbers each output of a product sums, and the weight that it sums them with. {0, _}: it is
  /// none.
  std::pair<std::int64_t, TensorId> productOf(const core::Graph& graph, const Node& node) const {
    static constexpr auto kProducts = std::to_array<std::string_view>({"MatMul", "Gemm", "Conv"});
    if (std::ranges::find(kProducts, node.opType) == kProducts.end() || node.inputs.size() < 2) return {};
    const core::TensorInfo& weight = graph.tensor(node.inputs[1]);
    const core::Shape &read = graph.tensor(node.inputs[0]).shape, &shape = weight.shape;
    if (weight.role != core::TensorRole::kParameter || !read.known() || !shape.known() || shape.rank() < 2 ||
        shape[0] == 0 || read.rank() == 0)
      return {};
    return {node.opType == "Conv" ? shape.elements() / shape[0] : read[read.rank() - 1], weight.id};
  }

  /// Products of independent numbers grow by the deviation of the weight times the root of how many are
  /// summed (He et al. 2015).
  std::string gainOf(EvaluationContext& context, const Node& node) const {
    constexpr double kTooLarge = 3;
    const auto [count, weight] = productOf(context.graph(), node);
    const StatisticsRow* row = count > 0 ? context.rows.now(context.rankWith(weight), weight) : nullptr;
    if (!row || row->values.nonFinite() > 0) return {};
    const double root = std::sqrt(static_cast<double>(count)), gain = row->values.std * root;
    if (gain < kTooLarge) return {};
    return "; " + context.graph().tensor(weight).name + " has a standard deviation of " +
           core::formatShort(row->values.std) + " and sums " + std::to_string(count) +
           " numbers, which multiplies their size by about " + core::formatShort(gain) + "; " +
           core::formatShort(1 / root) + " would keep it";
  }

  Finding findingOf(EvaluationContext& context, const Node& end) const {
    const Node& first = beginOfGrowth(context, end);
    const TensorId input = largestInput(context, first);
    Finding finding = findingAtNode(context, first.id, "");
    finding.parameter = "growth_gt";
    finding.preset = parameterOr(context.parameters, "growth_gt", 1e4);
    finding.actual = sizeOf(context, end.outputs.front());
    finding.detail = "values explode from here on: mean|x| grows from " +
                     core::formatShort(input.valid() ? sizeOf(context, input) : 0) + " to " +
                     core::formatShort(sizeOf(context, first.outputs.front()));
    if (&first != &end)
      finding.detail += " here, and to " + core::formatShort(finding.actual) + " at " + end.name;
    finding.detail += gainOf(context, first);
    return finding;
  }

  Outcome m_outcome;
  bool m_asked = false;
  std::vector<bool> m_given;  // by tensor: its size is that of constants or data
  double m_limit = 0;
  std::optional<Finding> m_finding;
};

}  // namespace

ConditionDef activationExplodingCondition() {
  ConditionDef def;
  def.id = "activation_exploding";
  def.title = "Values explode through the layers";
  def.doc =
      "In the first recorded iteration mean|x| of a forward tensor is more than growth_gt times that of the "
      "data (or 1), and the loss does not recover. Named where the growth begins.";
  def.advice =
      "Look at initial weights, at factors and residual sums of this line, and put a normalisation in "
      "between.";
  def.target = Target::kActivation;
  def.parameters = {{"growth_gt", ParameterType::kPos, 1e4, "hit if values grow by more"}};
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<ActivationExploding>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
