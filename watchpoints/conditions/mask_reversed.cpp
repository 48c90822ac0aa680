// A padding mask that keeps the padding: of all tokens only those of one value are let through, and every
// other one is hidden. Computed from constants and the batch.
#include <algorithm>
#include <set>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/given_values.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::Tensor;
using core::TensorId;

constexpr double kHides = -1e3;  // added to a score: nothing is left of it after the softmax

class MaskReversed : public Evaluator {
 public:
  explicit MaskReversed(const Graph& graph) {
    for (const core::TensorInfo& info : graph.tensors())
      if (info.role == core::TensorRole::kInput && isInteger(info.dtype)) m_tokens.push_back(info.id);
    for (const Node& node : graph.nodes())
      if (node.phase == core::Phase::kForward && (node.opType == "Mul" || node.opType == "Add"))
        m_nodes.push_back(node.id);
  }

  void evaluate(EvaluationContext& context) override {
    // Until a batch is there: values of the first iterations may have been dropped.
    if (m_tokens.empty() || m_nodes.empty() || context.ranks.empty() || m_done) return;
    if (!m_begin.valid()) m_begin = context.iteration;
    GivenValues given(context.source, context.ranks.front(), context.iteration);
    for (const TensorId tokens : m_tokens) {
      const std::optional<Tensor> value = given.of(tokens);
      if (!value) continue;
      m_done = true;
      for (const core::NodeId node : m_nodes)
        if (lookAt(context, given, context.graph().node(node), tokens, *value)) return;
    }
  }

 private:
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
                        "the mask lets through only the places where " + context.graph().tensor(id).name +
                            " is " + core::formatShort(*kept) + ", and hides all others, in " + node.name +
                            ": it is turned round, and the padding is all that is seen");
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
      "in the first batch that is stored.";
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
