#include <algorithm>

#include "watchpoints/conditions/collective.h"
#include "watchpoints/conditions/recompute.h"

namespace msdbg::watch {
namespace {

using core::Rank;

class Mismatch {
 public:
  /// `ranks`: those that are looked at, of the meeting.
  Mismatch(EvaluationContext& context, const Gathered& gathered, std::vector<Rank> ranks)
      : m_context(context), m_gathered(gathered), m_ranks(std::move(ranks)) {}

  void evaluate() {
    if (!inputsFinite()) return;
    const core::Result<core::Tensor> expected = recomputeCollective(m_context, m_gathered);
    if (expected)
      compareWith(*expected);
    else if (received())
      compareHashes();
    else
      compareStatistics(expected.error().message());
  }

 private:
  const core::Node& node() const { return m_gathered.node; }
  bool received() const { return togetherOf(node()) == Together::kReceive; }
  Place place(Rank rank) const { return {m_context.iteration, rank, node().outputs.front()}; }

  bool inputsFinite() {
    for (const auto& [rank, id] : m_gathered.meeting.senders)
      for (const core::TensorId input : m_context.inputs(rank, m_context.graph().node(id))) {
        const StatisticsRow* row = m_context.rows.now(rank, input);
        if (row && !finite(m_context, {m_context.iteration, rank, input}, row->values)) return false;
      }
    return true;
  }

  void compareWith(const core::Tensor& expected) {
    const core::Hash128 hash = core::hashTensor(expected);
    for (const Rank rank : m_ranks) {
      const StatisticsRow* row = m_context.rows.now(rank, node().outputs.front());
      if (!row) {
        missingRow(m_context, place(rank));
        continue;
      }
      ++m_context.evaluated;
      if (row->values.hash != hash)
        report(rank, received() ? notSent() : "its result is not the rank-ordered sum of the recorded inputs",
               &expected);
    }
  }

  std::string notSent() const {
    return "it is not what rank " + std::to_string(m_gathered.meeting.senders.front().rank.value) + " sent";
  }

  /// What was sent is not stored; its hash is.
  void compareHashes() {
    const Rank rank = m_gathered.rank;
    const StatisticsRow* here = m_context.rows.now(rank, node().outputs.front());
    const StatisticsRow* there = nullptr;
    for (const auto& [sender, id] : m_gathered.meeting.senders)
      if (const auto inputs = m_context.inputs(sender, m_context.graph().node(id)); inputs.size() == 1)
        there = m_context.rows.now(sender, inputs[0]);
    if (!here || !there)
      return notEvaluable(m_context, place(rank), "no_value", "what was sent is not recorded");
    ++m_context.evaluated;
    if (here->values.hash != there->values.hash) report(rank, notSent(), nullptr);
  }

  /// Without values a wrong sum can often be seen, a right one never be proven.
  void compareStatistics(const std::string& why) {
    const auto kept = ranksThatKeptTheirInput(m_context, m_gathered);
    const auto off = ranksOffTheMean(m_context, m_gathered).value_or(std::vector<Rank>{});
    for (const Rank rank : m_ranks) {
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
        m_context.source.value(rank, m_context.iteration, node().outputs.front());
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
  const Gathered& m_gathered;
  std::vector<Rank> m_ranks;
};

class CollectiveMismatch : public Evaluator {
 public:
  explicit CollectiveMismatch(const core::Graph& graph) {
    for (const core::Node& node : graph.nodes())
      if (isCollective(node) && !node.outputs.empty() &&
          (isSum(node) || togetherOf(node) == Together::kReceive))
        m_collectives.push_back(node.id);
  }
  void evaluate(EvaluationContext& context) override {
    for (const core::NodeId node : m_collectives)
      if (!context.cancel.cancelled()) evaluate(context, context.graph().node(node));
  }

 private:
  /// Each group once.
  static void evaluate(EvaluationContext& context, const core::Node& node) {
    std::vector<Rank> open(context.ranks.begin(), context.ranks.end());
    while (!open.empty()) {
      const Gathered gathered{node, open.front(), context.step.meeting(open.front(), node.id)};
      std::vector<Rank> here;
      std::erase_if(open, [&](Rank rank) {
        const bool isIn = rank == gathered.rank || isOf(gathered, {rank, node.id});
        if (isIn && context.step.time(rank, node.id) >= 0) here.push_back(rank);
        return isIn;
      });
      if (!here.empty()) Mismatch(context, gathered, std::move(here)).evaluate();
    }
  }

  static bool isOf(const Gathered& gathered, const Step::Call& call) {
    return togetherOf(gathered.node) == Together::kGroup &&
           std::ranges::count(gathered.meeting.senders, call) > 0;
  }

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
