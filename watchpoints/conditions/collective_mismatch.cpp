#include <algorithm>

#include "watchpoints/conditions/collective.h"
#include "watchpoints/conditions/recompute.h"

namespace msdbg::watch {
namespace {

using core::Rank;

class Mismatch {
 public:
  Mismatch(EvaluationContext& context, const core::Node& node) : m_context(context), m_node(node) {}

  void evaluate() {
    if (!inputsFinite()) return;
    const core::Result<core::Tensor> sum = recomputeCollective(m_context, m_node);
    if (sum)
      compareWith(*sum);
    else
      compareStatistics(sum.error().message());
  }

 private:
  Place place(Rank rank) const { return {m_context.iteration, rank, m_node.outputs.front()}; }

  bool inputsFinite() {
    for (Rank rank : m_context.source.ranks()) {
      const StatisticsRow* row = m_context.rows.now(rank, m_node.inputs.front());
      if (row && !finite(m_context, {m_context.iteration, rank, m_node.inputs.front()}, row->values))
        return false;
    }
    return true;
  }

  void compareWith(const core::Tensor& sum) {
    const core::Hash128 expected = core::hashTensor(sum);
    for (Rank rank : m_context.ranks) {
      const StatisticsRow* row = m_context.rows.now(rank, m_node.outputs.front());
      if (!row) {
        missingRow(m_context, place(rank));
        continue;
      }
      ++m_context.evaluated;
      if (row->values.hash != expected)
        report(rank, "its result is not the rank-ordered sum of the recorded inputs", &sum);
    }
  }

  /// Without values a wrong sum can often be seen, a right one never be proven.
  void compareStatistics(const std::string& why) {
    const auto kept = ranksThatKeptTheirInput(m_context, m_node);
    const auto off = ranksOffTheMean(m_context, m_node).value_or(std::vector<Rank>{});
    for (Rank rank : m_context.ranks) {
      if (std::ranges::find(kept, rank) != kept.end())
        report(rank, "its result is its own input, not the sum over ranks", nullptr);
      else if (std::ranges::find(off, rank) != off.end())
        report(rank, "the mean of its result is not the sum of the inputs' means", nullptr);
      else if (m_context.recommended)  // what statistics can tell, they have told
        ++m_context.evaluated;
      else
        notEvaluable(m_context, place(rank), "no_value", why);
    }
  }

  void report(Rank rank, std::string detail, const core::Tensor* sum) {
    Finding finding = findingAt(m_context, place(rank), precedence::kCollective);
    finding.detail = std::move(detail);
    const core::Result<core::Tensor> value =
        m_context.source.value(rank, m_context.iteration, m_node.outputs.front());
    const auto difference = value && sum ? firstDifference(*value, *sum) : std::nullopt;
    if (difference) {
      finding.element = difference->first;
      finding.count = difference->count;
      finding.actual = value->at(difference->first);
      finding.preset = sum->at(difference->first);
    }
    m_context.findings.push_back(std::move(finding));
  }

  EvaluationContext& m_context;
  const core::Node& m_node;
};

class CollectiveMismatch : public Evaluator {
 public:
  explicit CollectiveMismatch(const core::Graph& graph) {
    for (const core::Node& node : graph.nodes())
      if (isCollective(node)) m_collectives.push_back(node.id);
  }
  void evaluate(EvaluationContext& context) override {
    for (const core::NodeId node : m_collectives)
      if (!context.cancel.cancelled()) Mismatch(context, context.graph().node(node)).evaluate();
  }

 private:
  std::vector<core::NodeId> m_collectives;
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters&, bool) {
  return std::make_unique<CollectiveMismatch>(graph);
}

}  // namespace

ConditionDef collectiveMismatchCondition() {
  ConditionDef def;
  def.id = "collective_mismatch";
  def.title = "Collective mismatch";
  def.doc =
      "The recorded result of a collective is not the rank-ordered sum of the recorded inputs of all ranks, "
      "bit for bit."
      " Where values are not stored, a result that is its own input or whose mean is not the sum of the "
      "inputs' means"
      " is still found.";
  def.advice =
      "Look at what this rank's communicator did: a skipped call, a call with another tensor, a broken link.";
  def.target = Target::kCollective;
  def.needsValues = true;
  def.needsAllRanks = true;
  def.make = make;
  def.notOnline = [](const Parameters&, bool) -> std::string { return "needs the values of all ranks"; };
  return def;
}

}  // namespace msdbg::watch
