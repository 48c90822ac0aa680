// Tensors that the parallel plan says are equal on all ranks are compared by hash. A difference whose
// replicated inputs differ already is a consequence; the others are where ranks part.
#include <algorithm>
#include <map>
#include <set>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/rate_schedule.h"
#include "watchpoints/conditions/unequal_start.h"
#include "watchpoints/conditions/wrong_ranks.h"

namespace msdbg::watch {
namespace {

using core::Iteration;
using core::Rank;
using core::TensorId;
using core::TensorInfo;
using core::TensorRole;

using Hashes = std::vector<std::pair<Rank, core::Hash128>>;

bool allEqual(const Hashes& hashes) {
  return std::ranges::all_of(hashes, [&](const auto& h) { return h.second == hashes.front().second; });
}

class Divergence : public Evaluator {
 public:
  explicit Divergence(const core::Graph& graph)
      : m_graph(graph),
        m_updates(updatesByParameter(graph)),
        m_replicated(
            selectTensors(graph, [&](const TensorInfo& info) { return isReplicated(graph, info); })) {
    const std::set<TensorId> averaged = averagedParameters();
    std::erase_if(m_replicated, [&](TensorId tensor) { return averaged.contains(rootOf(graph, tensor)); });
  }

  void evaluate(EvaluationContext& context) override {
    m_context = &context;
    if (context.allRanks.size() < 2) return;
    if (!m_iteration.valid()) m_start = unequalStart(context);
    m_iteration = context.iteration;
    m_differs.assign(m_graph.tensors().size(), false);
    m_explainedNodes.clear();
    m_explainedInputs.clear();
    for (TensorId tensor : m_replicated) {
      if (context.step.whole() && m_graph.tensor(tensor).replicas.empty() &&
          context.source.replicaGroups().empty()) {
        compare(tensor, context.allRanks);
        continue;
      }
      for (const std::vector<Rank>& group : groupsOf(tensor)) compare(tensor, group);
    }
  }

  void finish(EvaluationContext& context) override {
    if (m_start) context.findings.push_back(std::move(*m_start));
    if (!m_firstRoot) return;
    if (!m_consequences.empty())
      m_firstRoot->detail +=
          "; " + std::to_string(m_consequences.size()) + " other replicated tensors differ as a consequence";
    context.findings.push_back(std::move(*m_firstRoot));
  }

 private:
  /// The ranks that are to agree: all that have the tensor, or those of each of its groups.
  std::vector<std::vector<Rank>> groupsOf(TensorId tensor) const {
    if (!m_context->source.replicaGroups().empty()) return groupsOfMesh(tensor);
    std::map<std::vector<std::int32_t>, std::vector<Rank>> groups;
    const auto isIn = [](std::span<const std::int32_t> ranks, Rank rank) {
      return ranks.empty() || std::ranges::binary_search(ranks, static_cast<std::int32_t>(rank.value));
    };
    for (const Rank rank : m_context->allRanks) {
      const core::GraphPart* part = m_context->source.part(rank, m_iteration);
      if (part && !part->has(tensor)) continue;
      const std::span<const std::int32_t> ranks =
          part ? part->replicas(m_graph, tensor) : m_graph.tensor(tensor).replicas;
      if (isIn(ranks, rank)) groups[{ranks.begin(), ranks.end()}].push_back(rank);
    }
    std::vector<std::vector<Rank>> all;
    for (auto& [ranks, here] : groups)
      if (here.size() > 1) all.push_back(std::move(here));
    return all;
  }

  std::vector<std::vector<Rank>> groupsOfMesh(TensorId tensor) const {
    std::vector<std::vector<Rank>> all;
    for (const std::vector<Rank>& group : m_context->source.replicaGroups()) {
      std::vector<Rank> here;
      std::ranges::copy_if(m_context->allRanks, std::back_inserter(here), [&](Rank rank) {
        const core::GraphPart* part = m_context->source.part(rank, m_iteration);
        return std::ranges::count(group, rank) > 0 && (!part || part->has(tensor));
      });
      if (here.size() > 1) all.push_back(std::move(here));
    }
    return all;
  }

  /// Of a program that averages weights and not gradients (local SGD): in between each rank has its own.
  std::set<TensorId> averagedParameters() const {
    std::set<TensorId> found;
    for (const core::Node& node : m_graph.nodes()) {
      if (!isCollective(node) || node.opType.find("reduce") == std::string::npos) continue;
      for (const TensorId output : node.outputs)
        if (m_graph.tensor(rootOf(m_graph, output)).role == TensorRole::kParameter)
          found.insert(rootOf(m_graph, output));
    }
    return found;
  }

  enum class When { kNow, kBefore };
  Hashes hashesOf(When when, TensorId tensor, std::span<const Rank> group) {
    Hashes hashes;
    IterationRows& rows = m_context->rows;
    for (Rank rank : group)
      if (const StatisticsRow* row = when == When::kNow ? rows.now(rank, tensor) : rows.before(rank, tensor))
        hashes.emplace_back(rank, row->values.hash);
    return hashes;
  }

  void compare(TensorId tensor, std::span<const Rank> group) {
    m_group = group;
    const Hashes hashes = hashesOf(When::kNow, tensor, group);
    if (hashes.size() < 2) {
      if (!hashes.empty())
        notEvaluable(*m_context, {m_iteration, hashes.front().first, tensor}, "no_value",
                     "recorded on one rank only");
      return;
    }
    m_context->evaluated += static_cast<std::int64_t>(hashes.size());
    if (allEqual(hashes)) return;
    m_differs[tensor.index()] = true;
    Divergent divergent{m_iteration, tensor, hashes, {}};
    if (const std::optional<std::string> cause = causeOf(divergent))
      report(divergent, *cause);
    else if (m_firstRoot)
      m_consequences.insert(tensor);
  }

  /// What kind of difference starts here; nullopt where an earlier one explains it.
  std::optional<std::string> causeOf(Divergent& divergent) {
    const TensorInfo& info = m_graph.tensor(divergent.tensor);
    return info.isSource() ? causeOfSource(info) : causeOfNode(divergent, m_graph.node(info.producer));
  }

  std::optional<std::string> causeOfSource(const TensorInfo& info) {
    if (info.role == TensorRole::kHyperparameter && !m_graph.consumers(info.id).empty()) return std::nullopt;
    const TensorId update = m_updates[info.id.index()];
    if (!update.valid()) return "input data: what enters the graph differs";
    if (m_iteration.value == 0)
      return "the initial values differ: one rank loaded what another one drew, or each drew its own";
    const Hashes hashes = hashesOf(When::kBefore, update, m_group);
    const std::string beforeText = std::to_string(m_iteration.value - 1);
    if (hashes.size() < 2)
      return "input data: it already differed when the iteration began; iteration " + beforeText +
             " is not recorded";
    if (allEqual(hashes)) return "memory: it was equal after the update of iteration " + beforeText;
    if (m_context->beforeSelected) return std::nullopt;
    return "it already differed after the update of iteration " + beforeText + ", which is not selected";
  }

  /// " (0.1 on rank 1, 0.01 on rank 0)" of a scalar.
  std::string valuesOnRanks(TensorId tensor) {
    std::map<double, std::vector<std::int64_t>, std::greater<>> ranks;
    for (const Rank rank : m_group)
      if (const StatisticsRow* row = m_context->rows.now(rank, tensor))
        ranks[row->values.mean].push_back(rank.value);
    std::vector<std::string> texts;
    for (const auto& [value, of] : ranks)
      texts.push_back(core::formatShort(value) + (of.size() == 1 ? " on rank " : " on ranks ") +
                      core::formatRanges(of));
    return " (" + core::join(texts, ", ") + ")";
  }

  static std::string ranksText(const std::vector<Rank>& ranks) {
    std::vector<std::int64_t> numbers;
    for (const Rank rank : ranks) numbers.push_back(rank.value);
    return (numbers.size() == 1 ? "rank " : "ranks ") + core::formatRanges(numbers);
  }

  std::optional<std::string> causeOfNode(Divergent& divergent, const core::Node& node) {
    if (!m_explainedNodes.insert(node.id).second) return std::nullopt;  // another output of the same node
    for (TensorId input : node.inputs) {
      if (!m_differs[input.index()]) continue;
      const TensorInfo& info = m_graph.tensor(input);
      // A learning rate that differs shows in the first update that reads it.
      if (info.role != TensorRole::kHyperparameter || !m_explainedInputs.insert(input).second)
        return std::nullopt;
      divergent.hyperparameter = input;
    }
    if (!divergent.hyperparameter.valid()) divergent.hyperparameter = rateThatDiffers(node);
    if (divergent.hyperparameter.valid())
      return "input data: " + m_graph.tensor(divergent.hyperparameter).name + " differs" +
             valuesOnRanks(divergent.hyperparameter);
    if (isCollective(node)) return "the collective";
    if (findWrittenAlone(divergent, node) || findWrittenGradient(divergent, node))
      return "what it reads there was changed by " +
             m_graph.node(m_graph.tensor(divergent.alone).producer).name +
             ", which the other ranks do not compute (" + ranksText(divergent.aloneOn) +
             (divergent.aloneOn.size() == 1 ? " does)" : " do)");
    if (const TensorId gradient = gradientOfItsRank(node); gradient.valid() && !seesCollectives())
      return "what differs is " + m_graph.tensor(gradient).fullName() +
             " as the optimizer reads it: the backward pass, what averages it over the ranks, or what "
             "changes "
             "it after that";
    else if (gradient.valid())
      return "gradients: " + m_graph.tensor(gradient).fullName() +
             " differs, since no collective averages it over the ranks before the optimizer reads it";
    return "local compute: its replicated inputs agree";
  }

  /// A weight or a gradient that the program changes on some ranks only: those read here what the others do
  /// not compute, in the place of something that all have.
  bool findWrittenAlone(Divergent& divergent, const core::Node& node) {
    for (const Rank rank : m_group) {
      const auto inputs = m_context->inputs(rank, node);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (m_graph.tensor(inputs[i]).isSource() || !isInPlaceOfOneThatAllHave(node, i, inputs[i], rank))
          continue;
        divergent.alone = inputs[i];
        std::ranges::copy_if(m_group, std::back_inserter(divergent.aloneOn),
                             [&](Rank other) { return has(other, inputs[i]); });
        return true;
      }
    }
    return false;
  }

  /// The gradient of an update is what AccumulateGrad has of it by then.
  bool findWrittenGradient(Divergent& divergent, const core::Node& node) {
    return node.phase == core::Phase::kUpdate && std::ranges::any_of(node.inputs, [&](TensorId input) {
             const TensorInfo& info = m_graph.tensor(input);
             return info.role == TensorRole::kGradient && !info.isSource() &&
                    findWrittenAlone(divergent, m_graph.node(info.producer));
           });
  }

  bool isInPlaceOfOneThatAllHave(const core::Node& node, std::size_t i, TensorId input, Rank rank) {
    return std::ranges::any_of(m_group, [&](Rank other) {
      const auto inputs = m_context->inputs(other, node);
      return i < inputs.size() && inputs[i] != input && !has(other, input) && has(rank, inputs[i]);
    });
  }

  bool has(Rank rank, TensorId tensor) {
    const core::GraphPart* part = m_context->source.part(rank, m_iteration);
    return (!part || part->has(tensor)) && m_context->rows.flagsNow(rank, tensor);
  }

  /// Of an update of another framework, of whose rates nobody says that they are the same everywhere.
  TensorId rateThatDiffers(const core::Node& node) {
    for (const TensorId input : node.inputs) {
      if (m_graph.tensor(input).role != TensorRole::kHyperparameter) continue;
      const Hashes hashes = hashesOf(When::kNow, input, m_group);
      if (hashes.size() > 1 && !allEqual(hashes)) return input;
    }
    return {};
  }

  /// Of an update: the gradient that each rank has for itself. Invalid: it is the same everywhere, or nobody
  /// knows.
  TensorId gradientOfItsRank(const core::Node& node) {
    if (node.phase != core::Phase::kUpdate) return {};
    for (const TensorId input : node.inputs) {
      if (m_graph.tensor(input).role != TensorRole::kGradient) continue;
      const Hashes hashes = hashesOf(When::kNow, input, m_group);
      if (hashes.size() > 1 && !allEqual(hashes) && !comesThroughCollective(input)) return input;
    }
    return {};
  }

  /// Level train and modules of PyTorch's recorder have none, whatever the program does; level ops has the
  /// operators of the backward pass too.
  bool seesCollectives() const {
    return std::ranges::any_of(m_graph.nodes(), [](const core::Node& node) {
      return isCollective(node) || (node.phase == core::Phase::kBackward && node.domain == "aten");
    });
  }

  bool comesThroughCollective(TensorId gradient) const {
    std::vector<TensorId> open{gradient};
    std::vector<bool> seen(m_graph.tensors().size());
    while (!open.empty()) {
      const TensorInfo& info = m_graph.tensor(open.back());
      open.pop_back();
      if (info.isSource() || seen[info.id.index()]) continue;
      seen[info.id.index()] = true;
      const core::Node& node = m_graph.node(info.producer);
      if (isCollective(node)) return true;
      if (node.phase == core::Phase::kBackward) std::ranges::copy(node.inputs, std::back_inserter(open));
    }
    return false;
  }

  /// Of the kinds of causes the one that was found; "": none.
  static std::string adviceFor(const std::string& cause) {
    if (cause.starts_with("input data"))
      return "Look at what each rank begins with: seeds, initial values, learning rates, its part of the "
             "data.";
    if (cause.starts_with("the collective"))
      return "Look at what took part in it: a rank may have been left out.";
    if (cause.starts_with("gradients"))
      return "Average the gradients before the step: call DistributedDataParallel itself, not its .module; "
             "leave "
             "no_sync() for the last of the passes whose gradients are accumulated; by hand, all_reduce each "
             "one.";
    if (cause.starts_with("what differs"))
      return "This level records no collectives: at level ops check says whether they are averaged, and what "
             "one rank alone does to them, as a clipping.";
    if (cause.starts_with("what it reads"))
      return "Look at the line that changes it: what one rank writes to a weight or a gradient, all have to "
             "write.";
    if (cause.starts_with("local compute"))
      return "Look at what computes it: kernels that are not deterministic, memory that was never written, "
             "broken hardware.";
    if (cause.starts_with("memory"))
      return "Look at what writes to it between two steps: a copy, a loaded state, a moving average, broken "
             "memory.";
    return "";
  }

  /// Of a mesh which of its groups it is.
  std::string groupText() const {
    if (m_context->source.replicaGroups().empty()) return "";
    std::vector<std::int64_t> ranks;
    for (const Rank rank : m_group) ranks.push_back(rank.value);
    return "ranks " + core::formatRanges(ranks) + " hold the same shards, and differ; ";
  }

  void report(const Divergent& divergent, const std::string& cause) {
    Verdict verdict = findWrongRanks(*m_context, divergent);
    if (divergent.alone.valid() && (verdict.wrong.empty() || m_group.size() == 2))
      verdict = {divergent.aloneOn, "alone differs from what all should hold", {}};
    std::vector<Rank> wrong = verdict.wrong;
    if (wrong.empty()) wrong.push_back(divergent.hashes.front().first);
    for (Rank rank : wrong) {
      const Place place{m_iteration, rank, divergent.tensor};
      Finding finding = findingAt(*m_context, place, precedence::kDivergence);
      finding.detail = verdict.wrong.empty()
                           ? groupText() + "which rank is wrong cannot be told from what is recorded"
                           : "rank " + std::to_string(rank.value) + " " + verdict.reason;
      addDifference(finding, divergent, verdict, rank == wrong.front());
      finding.detail += "; " + cause;
      finding.advice = adviceFor(cause);
      finding.writtenAt = divergent.alone.valid() ? divergent.alone : divergent.hyperparameter;
      if (const TensorId line = scheduleLine(m_graph, divergent.hyperparameter); line.valid())
        finding.writtenAt = line;
      if (m_firstRoot)
        m_context->findings.push_back(std::move(finding));
      else
        m_firstRoot = std::move(finding);
    }
  }

  /// The stored value of any rank that is not blamed, or that of the recomputation.
  core::Result<core::Tensor> rightValue(const Divergent& divergent, const Verdict& verdict, Rank wrong,
                                        bool first) {
    if (first && verdict.expected) return *verdict.expected;
    for (const auto& [rank, hash] : divergent.hashes)
      if (rank != wrong && std::ranges::find(verdict.wrong, rank) == verdict.wrong.end())
        return m_context->source.value(rank, m_iteration, divergent.tensor);
    return core::Error(core::ErrorCode::kUnavailable, "no rank is right");
  }

  void addDifference(Finding& finding, const Divergent& divergent, const Verdict& verdict, bool first) {
    const core::Result<core::Tensor> right = rightValue(divergent, verdict, finding.rank, first);
    const core::Result<core::Tensor> wrong =
        m_context->source.value(finding.rank, m_iteration, divergent.tensor);
    if (!right || !wrong) return;
    const std::optional<Difference> difference = firstDifference(*wrong, *right);
    if (!difference) return;
    finding.element = difference->first;
    finding.count = difference->count;
    finding.actual = wrong->at(difference->first);
    finding.preset = right->at(difference->first);
    finding.detail += "; " + std::to_string(difference->count) + " of " + std::to_string(wrong->elements()) +
                      " elements differ, the first is " + core::formatShort(finding.actual) + " against " +
                      core::formatShort(finding.preset);
  }

  EvaluationContext* m_context = nullptr;  // of the iteration
  const core::Graph& m_graph;
  std::vector<TensorId> m_updates, m_replicated;
  Iteration m_iteration;
  std::span<const Rank> m_group;            // that is compared
  std::vector<bool> m_differs;              // of each tensor, in this iteration
  std::set<core::NodeId> m_explainedNodes;  // with an output that differs, in this iteration
  std::set<TensorId> m_explainedInputs;     // hyperparameters whose difference has been reported
  std::optional<Finding> m_start;           // of parameters that nobody calls replicated
  std::optional<Finding> m_firstRoot;       // told at the end, with what followed
  std::set<TensorId> m_consequences;
};

}  // namespace

ConditionDef rankDivergenceCondition() {
  ConditionDef def;
  def.id = "rank_divergence";
  def.title = "Ranks differ";
  def.doc =
      "A tensor that the parallel plan says is equal on several ranks differs in any bit, or a parameter "
      "that all ranks update with the same gradient. Reported where it "
      "starts, with"
      " the rank that is wrong (majority, else recomputation, else statistics) and whether local compute, the"
      " collective or the input data differ.";
  def.advice =
      "Local compute: non-deterministic or broken hardware, uninitialised memory. Collective: a rank that "
      "took no"
      " part. Input data: seeds, initial values and learning rates of the ranks.";
  def.needsAllRanks = true;
  def.rowsOnly = true;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<Divergence>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string {
    return "needs the statistics of all ranks in one place";
  };
  return def;
}

}  // namespace msdbg::watch
