// A padding mask that keeps the padding: of all tokens only those of one value are let through, and every
// other one is hidden. Computed from constants and the batch.
#include <algorithm>
#include <set>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/given_values.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/masked_target.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::Tensor;
using core::TensorId;

constexpr double kHides = -1e3;  // added to a score: nothing is left of it after the softmax

class MaskReversed : public Evaluator {
 public:
  explicit MaskReversed(const Graph& graph) : m_targets(graph) {
    for (const core::TensorInfo& info : graph.tensors())
      if (info.role == core::TensorRole::kInput && isInteger(info.dtype)) m_tokens.push_back(info.id);
    for (const Node& node : graph.nodes())
      if (node.phase == core::Phase::kForward && (node.opType == "Mul" || node.opType == "Add"))
        m_nodes.push_back(node.id);
  }

  void evaluate(EvaluationContext& context) override {
    if (!m_begin.valid() && !context.ranks.empty()) lookAtFacts(context);
    // Until a batch is there: values of the first iterations may have been dropped.
    if (context.ranks.empty()) return;
    if (!m_begin.valid()) m_begin = context.iteration;
    m_targets.add(context);
    if (m_tokens.empty() || m_nodes.empty() || m_done) return;
    GivenValues given(context.source, context.ranks.front(), context.iteration);
    for (const TensorId tokens : m_tokens) {
      const std::optional<Tensor> value = given.of(tokens);
      if (!value) continue;
      m_done = true;
      for (const core::NodeId node : m_nodes)
        if (lookAt(context, given, context.graph().node(node), tokens, *value)) return;
    }
  }

  void finish(EvaluationContext& context) override { m_targets.finish(context); }

 private:
  /// What a recorder found that keeps no values; layers that follow are made alike.
  void lookAtFacts(EvaluationContext& context) {
    const Graph& graph = context.graph();
    for (const Node& node : graph.nodes()) {
      if (!node.attributes.contains(fact::kLetsThrough)) continue;
      ++context.evaluated;
      const std::string embedding = foreignAttribute(node, fact::kTokensOf, std::string());
      const auto reader = std::ranges::find(graph.nodes(), embedding, &Node::name);
      const std::string tokens = reader == graph.nodes().end() || reader->inputs.size() < 2
                                     ? "what " + embedding + " reads"
                                     : graph.tensor(reader->inputs[1]).name;
      const auto kept = foreignAttribute<std::int64_t>(node, fact::kLetsThrough, 0);
      Finding finding =
          findingAtNode(context, comparisonOf(graph, node), sentence(tokens, std::to_string(kept), node));
      finding.advice =
          "masked_fill() and a key_padding_mask hide where the mask is True: tokens == " +
          std::to_string(kept) +
          "; F.scaled_dot_product_attention shows where it is: tokens != " + std::to_string(kept) + ".";
      context.findings.push_back(std::move(finding));
      m_done = true;
      return;
    }
  }

  /// That a mask begins with; the operator that uses it where the batch brought it.
  static core::NodeId comparisonOf(const Graph& graph, const Node& node) {
    const std::vector<bool> learnt = learntTensors(graph);
    for (const TensorId input : node.inputs) {
      const core::NodeId maker = learnt[input.index()] ? core::NodeId() : maskMaker(graph, input);
      if (maker.valid() && !isFloating(graph.tensor(graph.node(maker).outputs.front()).dtype)) return maker;
    }
    return node.id;
  }

  static std::string sentence(const std::string& tokens, const std::string& kept, const Node& node) {
    return "the mask lets through only the places where " + tokens + " is " + kept +
           ", and hides all others, in " + node.name +
           ": it is turned round, and the padding is all that is seen";
  }

  bool lookAt(EvaluationContext& context, GivenValues& given, const Node& node, TensorId id,
              const Tensor& tokens) {
    for (const TensorId input : node.inputs) {
      const core::TensorInfo& info = context.graph().tensor(input);
      if (!info.producer.valid() || !info.shape.known() || info.shape.elements() != tokens.elements())
        continue;
      if (given.of(node.inputs[input == node.inputs[0] ? 1 : 0])) continue;  // nothing learnt is masked
      const std::optional<Tensor> mask = given.of(input);
      if (!mask) continue;
      ++context.evaluated;
      const std::optional<double> kept = onlyKept(*mask, tokens, node.opType == "Add");
      if (!kept) continue;
      Finding finding =
          findingAtNode(context, maskMaker(context.graph(), input),
                        sentence(context.graph().tensor(id).name, core::formatShort(*kept), node));
      finding.iteration = m_begin;
      context.findings.push_back(std::move(finding));
      return true;
    }
    return false;
  }

  /// The one token that is let through, where several others are hidden; nullopt: it is no such mask.
  static std::optional<double> onlyKept(const Tensor& mask, const Tensor& tokens, bool added) {
    std::set<double> kept, hidden;
    for (std::int64_t i = 0; i < mask.elements(); ++i) {
      const double value = mask.at(i);
      if (added ? value != 0 && value > kHides : value != 0 && value != 1) return std::nullopt;
      const bool hides = added ? value <= kHides : value == 0;
      (hides ? hidden : kept).insert(tokens.at(i));
      if (kept.size() > 1) return std::nullopt;
    }
    constexpr std::size_t kOthers = 4;
    if (kept.size() != 1 || hidden.size() < kOthers || hidden.contains(*kept.begin())) return std::nullopt;
    return *kept.begin();
  }

  MaskedTarget m_targets;
  std::vector<TensorId> m_tokens;
  std::vector<core::NodeId> m_nodes;
  core::Iteration m_begin;  // a mask is wrong from here on, whichever batch shows it
  bool m_done = false;
};

}  // namespace

ConditionDef maskReversedCondition() {
  ConditionDef def;
  def.id = "mask_reversed";
  def.title = "A mask that is turned round";
  def.doc =
      "What is multiplied (by 0 and 1) or added (0 and less than -1000) to something learnt, one number for "
      "each token of an input of whole numbers, lets through one token only and hides at least four others; "
      "in the first batch that is stored. Of PyTorch at level ops the recorder looks at the mask where it is "
      "used first. Or what weighs the errors of a target that nothing else compares is 0 wherever that "
      "target is not, "
      "in three batches that are stored.";
  def.advice = "Keep what is not the padding: not(equal(x, 0)), or 1 - equal(x, 0).";
  def.target = Target::kActivation;
  def.needsValues = true;
  def.make = [](const Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<MaskReversed>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "needs the values of a batch"; };
  return def;
}

}  // namespace msdbg::watch
