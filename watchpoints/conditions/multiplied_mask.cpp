// A mask of 0 and 1 that is multiplied to the scores before a softmax, where a score of 0 is not hidden:
// exp(0) is 1. And one that is multiplied to the weights of an attention after it, which then no longer sum
// to 1.
#include <algorithm>
#include <cmath>

#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

constexpr auto kPasses = std::to_array<std::string_view>({"Identity", "Cast", "Dropout", "StopGradient"});

struct MaskedSoftmax {
  const Node* product;
  TensorId mask;
  bool before;  // the softmax
};

/// The factor that nothing learnt is part of, and that tells the elements of the last axis apart; invalid:
/// none.
TensorId maskOf(const Graph& graph, const Node& product, const std::vector<bool>& learnt) {
  if (!isProduct(&product) || product.inputs.size() != 2) return {};
  for (const std::size_t i : {0, 1}) {
    const core::Shape& shape = graph.tensor(product.inputs[i]).shape;
    const bool wide = shape.rank() > 0 && shape.known() && shape[shape.rank() - 1] > 1;
    if (wide && !learnt[product.inputs[i].index()] && learnt[product.inputs[1 - i].index()])
      return product.inputs[i];
  }
  return {};
}

bool isSoftmaxOverTheLast(const Graph& graph, const Node& node) {
  static constexpr auto kSoftmax =
      std::to_array<std::string_view>({"Softmax", "aten._softmax", "aten._safe_softmax"});
  if (node.phase != core::Phase::kForward || !isOneOf(&node, kSoftmax)) return false;
  const std::int64_t axis = softmaxAxis(node);
  return axis == -1 || axis + 1 == static_cast<std::int64_t>(graph.tensor(node.outputs.front()).shape.rank());
}

/// Forward users of a tensor, past what only passes it on.
std::vector<const Node*> usersOf(const Graph& graph, TensorId tensor) {
  std::vector<const Node*> users;
  for (const core::NodeId id : graph.consumers(tensor)) {
    const Node& node = graph.node(id);
    if (node.phase != core::Phase::kForward) continue;
    if (!isOneOf(&node, kPasses)) {
      users.push_back(&node);
      continue;
    }
    const std::vector<const Node*> further = usersOf(graph, node.outputs.front());
    users.insert(users.end(), further.begin(), further.end());
  }
  return users;
}

/// Multiplied into the values right away, and not divided by its sum.
bool isUsedAsWeights(const Graph& graph, TensorId weights) {
  static constexpr auto kMatrix = std::to_array<std::string_view>({"MatMul", "aten.bmm", "Gemm"});
  const std::vector<const Node*> users = usersOf(graph, weights);
  return !users.empty() &&
         std::ranges::all_of(users, [](const Node* user) { return isOneOf(user, kMatrix); });
}

/// Whether the scores were masked by what is added or chosen.
bool isMaskedBefore(const Graph& graph, const Node& softmax, const std::vector<bool>& learnt) {
  static constexpr auto kMasks = std::to_array<std::string_view>(
      {"Add", "Sub", "Where", "aten.add", "aten.masked_fill", "aten.where", "aten.masked_fill_"});
  TensorId scores = softmax.inputs.front();
  for (int steps = 0; steps < 8; ++steps) {
    const Node* node = producerOf(graph, unscaled(graph, originOf(graph, scores)));
    if (!isOneOf(node, kMasks)) return false;
    const auto isGiven = [&](TensorId input) {
      return !learnt[input.index()] && graph.tensor(input).shape.rank() > 1;
    };
    if (std::ranges::any_of(node->inputs, isGiven)) return true;
    scores = node->inputs.front();
  }
  return false;
}

std::vector<MaskedSoftmax> maskedSoftmaxes(const Graph& graph) {
  const std::vector<bool> learnt = learntTensors(graph);
  std::vector<MaskedSoftmax> all;
  for (const Node& softmax : graph.nodes()) {
    if (softmax.inputs.empty() || !isSoftmaxOverTheLast(graph, softmax)) continue;
    const Node* product = producerOf(graph, unscaled(graph, originOf(graph, softmax.inputs.front())));
    const TensorId before = product ? maskOf(graph, *product, learnt) : TensorId();
    const std::vector<const Node*> users = usersOf(graph, softmax.outputs.front());
    // exp(0) is taken away by a second product (AllenNLP's masked_softmax).
    const bool again =
        std::ranges::any_of(users, [&](const Node* user) { return maskOf(graph, *user, learnt).valid(); });
    if (before.valid() && !again) all.push_back({product, before, true});
    if (before.valid() || isMaskedBefore(graph, softmax, learnt)) continue;
    for (const Node* user : users)
      if (const TensorId after = maskOf(graph, *user, learnt);
          after.valid() && isUsedAsWeights(graph, user->outputs.front()))
        all.push_back({user, after, false});
  }
  return all;
}

/// Nothing but 0 and 1, and both: numbers up to 1 whose mean is the share of those that are not 0.
bool isOfZeroAndOne(const core::TensorStatistics& values) {
  constexpr double kRounding = 1e-6;
  if (values.nonFinite() > 0 || values.min != 0 || values.max != 1) return false;
  const double ones = static_cast<double>(values.count - values.zero) / static_cast<double>(values.count);
  return std::abs(values.mean - ones) <= kRounding * ones;
}

class MultipliedMask : public Evaluator {
 public:
  explicit MultipliedMask(const Graph& graph) : m_masks(maskedSoftmaxes(graph)), m_seen(m_masks.size()) {}

  void evaluate(EvaluationContext& context) override {
    if (context.ranks.empty()) return;
    for (std::size_t i = 0; i < m_masks.size(); ++i) {
      const StatisticsRow* row = context.rows.now(context.rankWith(m_masks[i].mask), m_masks[i].mask);
      const core::TensorInfo& mask = context.graph().tensor(m_masks[i].mask);
      if (row) ++context.evaluated;
      if (row && !m_seen[i].first.valid()) m_seen[i].first = context.iteration;
      if (row && row->values.count > 0) m_seen[i].other |= !isOfZeroAndOne(row->values);
      const bool constant = mask.role == core::TensorRole::kConstant;
      if (m_told || m_seen[i].other || !row || ++m_seen[i].times < (constant ? 1 : kBatches)) continue;
      m_told = true;  // the layers that follow are made alike
      context.findings.push_back(findingOf(context, m_masks[i]));
      context.findings.back().iteration = m_seen[i].first;
    }
  }

 private:
  static constexpr int kBatches = 3;
  struct Seen {
    int times = 0;
    bool other = false;
    core::Iteration first = {};
  };

  static Finding findingOf(const EvaluationContext& context, const MaskedSoftmax& masked) {
    const std::string mask = context.graph().tensor(masked.mask).fullName();
    Finding finding = findingAtNode(
        context, masked.product->id,
        masked.before
            ? "the scores are multiplied by " + mask +
                  ", which is 0 where they are to be hidden, and a softmax takes the result: it gives a "
                  "score "
                  "of 0 the weight exp(0), as much as any other, and hides nothing"
            : "the weights of a softmax are multiplied by " + mask +
                  ", of 0 and 1, and used as they are: what is hidden has its part in the sum that they were "
                  "divided by, and they no longer sum to 1");
    if (!masked.before) finding.severity = Severity::kHint;
    return finding;
  }

  std::vector<MaskedSoftmax> m_masks;
  std::vector<Seen> m_seen;
  bool m_told = false;
};

}  // namespace

ConditionDef multipliedMaskCondition() {
  ConditionDef def;
  def.id = "multiplied_mask";
  def.title = "A mask that hides nothing";
  def.doc =
      "What a softmax over the last axis reads is a product of something learnt and of something that is "
      "not, that is 0 or 1 in every element of three batches (of a constant: once), and is not multiplied "
      "again after it. A hint: the same right after a softmax whose weights are then multiplied with values "
      "and not divided by their sum, where no mask was added before.";
  def.advice =
      "Add -1e9 where the mask is 0, before the softmax: scores + (1 - mask) * -1e9, or masked_fill().";
  def.target = Target::kActivation;
  def.rowsOnly = true;
  def.make = [](const Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<MultipliedMask>(graph);
  };
  return def;
}

}  // namespace msdbg::watch
