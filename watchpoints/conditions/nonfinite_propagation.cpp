// The first operator in order whose inputs are all finite and whose output is not. Everything it reaches is a
// consequence; a rank that is reached through a collective says from which rank. Where no tensor tells, the
// loss that was recorded does.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core_engine/base/text.h"
#include "watchpoints/blame/blame.h"
#include "watchpoints/conditions/data_origin.h"
#include "watchpoints/conditions/nonfinite.h"
#include "watchpoints/conditions/out_of_range.h"
#include "watchpoints/conditions/scaler_skips.h"

namespace msdbg::watch {
namespace {

using core::Iteration;
using core::NodeId;
using core::Rank;
using core::TensorId;

enum class State : char { kUnknown, kFinite, kNonFinite };

std::optional<std::int64_t> firstNonFinite(const core::Tensor& x) {
  for (std::int64_t i = 0; i < x.elements(); ++i)
    if (!std::isfinite(x.at(i))) return i;
  return std::nullopt;
}

std::string rankList(const std::vector<Rank>& ranks) {
  std::vector<std::int64_t> numbers;
  for (Rank rank : ranks) numbers.push_back(rank.value);
  return (ranks.size() == 1 ? "rank " : "ranks ") + core::formatRanges(numbers);
}

class Propagation : public Evaluator {
 public:
  Propagation(const core::Graph& graph, bool recommended)
      : m_graph(graph),
        m_recommended(recommended),
        m_nonFinite(graph),
        m_updates(updatesByParameter(graph)),
        m_sources(selectTensors(graph, [](const core::TensorInfo& info) { return info.isSource(); })),
        m_losses(selectTensors(
            graph, [](const core::TensorInfo& info) { return info.role == core::TensorRole::kLoss; })),
        m_alwaysFinite(std::ranges::count_if(
            graph.tensors(), [](const core::TensorInfo& info) { return !mayBeNonFinite(info.dtype); })) {}

  void evaluate(EvaluationContext& context) override {
    m_context = &context;
    m_iteration = context.iteration;
    const std::size_t before = context.findings.size();
    if (context.rows.none())
      context.evaluated += static_cast<std::int64_t>(context.ranks.size()) * m_alwaysFinite;
    else
      lookAtRows(context);
    for (std::size_t i = before; i < context.findings.size(); ++i)
      if (context.findings[i].severity != Severity::kHint) m_sick.insert(context.findings[i].rank);
    for (const Rank rank : context.ranks)
      if (!m_sick.contains(rank)) lookAtLoss(rank);
    if (m_recommended) m_skips.hold(context, before);
    if (m_recommended && !context.online) m_data.hold(context, before);
  }

  void finish(EvaluationContext& context) override { m_data.finish(context); }

 private:
  void lookAtRows(EvaluationContext& context) {
    for (Rank rank : context.source.ranks()) load(rank);
    for (Rank rank : context.ranks) {
      const std::vector<State>& states = m_states[rank];
      context.evaluated += std::ranges::count_if(states, [](State s) { return s != State::kUnknown; });
      if (std::ranges::find(states, State::kNonFinite) == states.end()) continue;
      const std::size_t before = context.findings.size();
      for (TensorId source : m_sources)
        if (state(rank, source) == State::kNonFinite) visitSource(rank, source);
      for (const core::Node& node : m_graph.nodes()) visitNode(rank, node);
      if (m_recommended && context.findings.size() > before && !m_nonFinite.reachesTraining(context, rank))
        tellHarmless(before);
    }
  }

  /// It is recorded of every iteration, also where nothing is of the tensors: then it is the first that is
  /// known to be wrong.
  void lookAtLoss(Rank rank) {
    const std::optional<double> loss = m_context->source.scalar(rank, m_iteration, "loss");
    if (!loss || std::isfinite(*loss)) return;
    const core::GraphPart* part = m_context->source.part(rank, m_iteration);
    const auto tensor = std::ranges::find_if(m_losses, [&](TensorId t) { return !part || part->has(t); });
    if (tensor == m_losses.end() || m_context->rows.flagsNow(rank, *tensor)) return;
    m_sick.insert(rank);
    report(rank, *tensor,
           "the loss that was recorded is " + core::formatDouble(*loss) +
               "; it went wrong here or before: nothing is recorded of what it is made of",
           "msdbg check --recompute asks of what was not recorded, where checkpoints and batches are; a "
           "recording with --policy stats names the operator.");
  }

  /// As a metric.
  void tellHarmless(std::size_t before) {
    for (std::size_t i = before; i < m_context->findings.size(); ++i) {
      if (!m_nonFinite.isBeside(m_context->findings[i].tensor)) continue;
      m_context->findings[i].severity = Severity::kHint;
      m_context->findings[i].detail += "; it gets to no loss, gradient or weight in this iteration";
    }
  }

  void load(Rank rank) {
    std::vector<State>& states = m_states[rank];
    states.assign(m_graph.tensors().size(), State::kUnknown);
    for (const core::TensorInfo& info : m_graph.tensors()) {
      State& state = states[info.id.index()];
      if (!mayBeNonFinite(info.dtype))
        state = State::kFinite;
      else if (const StatisticsRow* row = m_context->rows.flagsNow(rank, info.id))
        state = wrong(info.id, row->values) ? State::kNonFinite : State::kFinite;
    }
  }

  bool wrong(TensorId tensor, const core::TensorStatistics& values) const {
    return values.nonFinite() > 0 && !(m_recommended && m_nonFinite.isMeant(tensor, values));
  }

  State state(Rank rank, TensorId tensor) const { return m_states.at(rank)[tensor.index()]; }

  /// Not a cause where the update that made the value is itself recorded and already not finite.
  void visitSource(Rank rank, TensorId source) {
    const TensorId update = m_updates[source.index()];
    const Iteration before(m_iteration.value - 1);
    const StatisticsRow* row = nullptr;
    if (update.valid() && m_context->beforeSelected) row = m_context->rows.flagsBefore(rank, update);
    if (row && row->values.nonFinite() > 0) return;
    if (!update.valid()) return reportGiven(rank, source);
    if (!row) return report(rank, source, "");
    report(rank, source,
           "its update in iteration " + std::to_string(before.value) +
               " gave finite values: it changed in between",
           "Look at what writes to it between two steps: a copy, a loaded state, a moving average, broken "
           "memory.");
  }

  /// What the program was given, and no operator made: the line is that of the first that reads it.
  void reportGiven(Rank rank, TensorId source) {
    const core::TensorInfo& info = m_graph.tensor(source);
    const std::string values = valuesOf(rank, source);
    if (info.role == core::TensorRole::kParameter)
      return report(rank, source, "it holds " + values + " before anything is computed with it",
                    "Look at what it was loaded from, or at how it is initialised.");
    if (info.role == core::TensorRole::kHyperparameter)
      return report(
          rank, source, "it holds " + values + " when the optimizer reads it",
          "Look at what sets it: a schedule that divides by its number of warm-up or of all steps, a "
          "configuration that was not read.");
    report(rank, source, "the data hold " + values + " where they enter the graph" + sampleOf(rank, info),
           dataAdvice(rank, info));
  }

  /// ", in sample 8 (of 16)"; "" where the value is not stored.
  std::string sampleOf(Rank rank, const core::TensorInfo& info) {
    const core::Result<core::Tensor> value = m_context->source.value(rank, m_iteration, info.id);
    const auto element = value ? firstNonFinite(*value) : std::nullopt;
    if (!element || value->shape().rank() < 2 || value->shape()[0] == 0) return "";
    const std::int64_t samples = value->shape()[0];
    return ", first in sample " + std::to_string(*element / (value->elements() / samples)) + " of " +
           std::to_string(samples);
  }

  /// The data, not the operator that reads them: what shows the sample.
  std::string dataAdvice(Rank rank, const core::TensorInfo& info) {
    const std::string shows =
        "msdbg show RUN --tensor " + core::shellQuoted(info.name) + " --iteration " +
        std::to_string(m_iteration.value) +
        (m_context->source.ranks().size() > 1 ? " --rank " + std::to_string(rank.value) : "");
    const std::string look =
        "What enters here is wrong, not the operator that reads it first: the data, or what the program "
        "computes of them before the first iteration, which is not recorded. ";
    if (m_context->source.stored(rank, m_iteration, info.id) ||
        m_context->source.value(rank, m_iteration, info.id).ok())
      return look + shows + " shows them (--slice N: sample N).";
    return look + "Record them with --tensors " + core::shellQuoted(info.name) +
           ": check then says which sample it is, and " + shows +
           " --slice N shows it. To go on, leave out what is not finite where it is loaded, and look for a "
           "division by zero in what is computed of it.";
  }

  /// "3 NaN and 1 Inf"
  std::string valuesOf(Rank rank, TensorId tensor) {
    const core::TensorStatistics& values = m_context->rows.flagsNow(rank, tensor)->values;
    std::string text = values.nan > 0 ? std::to_string(values.nan) + " NaN" : "";
    if (values.inf() > 0) text += (text.empty() ? "" : " and ") + std::to_string(values.inf()) + " Inf";
    return text;
  }

  void visitNode(Rank rank, const core::Node& node) {
    const auto wrong =
        std::ranges::find_if(node.outputs, [&](TensorId t) { return state(rank, t) == State::kNonFinite; });
    if (wrong == node.outputs.end() || anyInput(rank, node, State::kNonFinite)) return;
    if (isCollective(node)) return visitCollective(rank, node, *wrong);
    if (!anyInput(rank, node, State::kUnknown)) return reportOrigin(rank, node, *wrong);
    visitUnknownInputs(rank, node, *wrong);
  }

  /// What the operator's rules blame and advise, else that nothing is known but that its inputs are finite.
  void reportOrigin(Rank rank, const core::Node& node, TensorId output) {
    if (const std::optional<Blame> blame = blamed(rank, node, output)) {
      report(rank, output, blame->sentence(), adviceOf(*blame));
      if (blame->wrong == Wrong::kExtreme) lookWhereItGrew();
      return;
    }
    if (isWholePass(node))
      return report(rank, output, kWithin, "A recording at level ops names the operator and its line.");
    report(rank, output, inputsText(rank, node));
    if (const StatisticsRow* row = m_context->rows.now(rank, output); row && row->values.inf() > 0)
      lookWhereItGrew();
  }

  /// What overflows may have been made so large long before: that reads a lot, and is looked for once.
  void lookWhereItGrew() {
    if (!m_context->online && !std::exchange(m_toldWhereItGrew, true))
      tellWhereItGrew(*m_context, m_context->findings.back());
  }

  /// Of infinities that are meant the user sees the numbers beside this.
  std::string inputsText(Rank rank, const core::Node& node) const {
    for (const TensorId input : m_context->inputs(rank, node))
      if (const StatisticsRow* row = m_context->rows.flagsNow(rank, input);
          row && row->values.nonFinite() > 0)
        return "its inputs are finite but for the infinities of " + m_graph.tensor(input).name +
               lineOf(input) +
               ", which the program gives itself: right for a mask, wrong where numbers are expected";
    for (const auto& [name, value] : node.attributes)
      if (const auto* number = std::get_if<double>(&value); number && !std::isfinite(*number))
        return "its inputs are all finite, and the number that it is given (" + name + ") is " +
               core::formatShort(*number);
    return "its inputs are all finite";
  }

  /// " (train.py:65)"; "" where nobody knows it.
  std::string lineOf(TensorId tensor) const {
    const core::TensorInfo& info = m_graph.tensor(tensor);
    const core::Frame* frame =
        m_graph.userFrame(info.producer.valid() ? m_graph.node(info.producer).frames : info.frames);
    if (!frame) return "";
    return " (" + frame->file.substr(frame->file.rfind('/') + 1) + ":" + std::to_string(frame->line) + ")";
  }

  static std::string adviceOf(const Blame& blame) {
    return blame.advice.empty() ? "Look at what makes that input."
                                : "Change it as the detail says; where such an input should never come, look "
                                  "at what makes it.";
  }

  /// What something else than an operator wrote, maybe into memory that had no values before.
  static bool isOutside(const core::Node& node) { return node.opType == "torch.written_outside"; }

  /// What PyTorch's recorder has of a forward pass at its cheapest level.
  static bool isWholePass(const core::Node& node) { return node.opType == "torch.forward"; }
  static constexpr const char* kWithin =
      "the parameters and what is recorded of the batch are finite: it went wrong inside of the forward "
      "pass, which this level does not record, or in data that no DataLoader gave";

  bool anyInput(Rank rank, const core::Node& node, State wanted) const {
    return std::ranges::any_of(m_context->inputs(rank, node),
                               [&](TensorId t) { return state(rank, t) == wanted; });
  }

  std::vector<Rank> ranksWithInput(const Step::Meeting& meeting, State wanted) const {
    std::vector<Rank> ranks;
    for (const auto& [rank, node] : meeting.senders)
      if (anyInput(rank, m_graph.node(node), wanted)) ranks.push_back(rank);
    return ranks;
  }

  /// The inputs of a collective are those of all its ranks.
  void visitCollective(Rank rank, const core::Node& node, TensorId output) {
    const Step::Meeting meeting = m_context->step.meeting(rank, node.id);
    const std::vector<Rank> senders = ranksWithInput(meeting, State::kNonFinite);
    const std::vector<Rank> unknown = ranksWithInput(meeting, State::kUnknown);
    if (!senders.empty())
      received(rank, output, "received from " + rankList(senders) + " through " + node.name);
    else if (!unknown.empty())
      received(rank, output,
               "at or before " + node.name + "; its input on " + rankList(unknown) + " is not recorded");
    else if (!meeting.complete)
      received(
          rank, output,
          "from another rank through " + node.name + ", or at or before it: not every rank is recorded here");
    else if (const std::optional<Blame> blame = blamed(rank, node, output))
      report(rank, output, blame->sentence(), adviceOf(*blame));
    else
      report(rank, output, "the inputs of all ranks are finite");
  }

  /// What the operator's rules blame and advise (watchpoints/blame).
  std::optional<Blame> blamed(Rank rank, const core::Node& node, TensorId output) {
    return blameOperator(m_context->source, rank, m_iteration, node, output, Wrong::kNonFinite);
  }

  /// One arrival a rank: after it the whole rank is a consequence.
  void received(Rank rank, TensorId output, std::string detail) {
    if (m_received.insert(rank).second) report(rank, output, std::move(detail));
  }

  /// Walks back over what is not recorded to the nearest recorded tensors.
  void visitUnknownInputs(Rank rank, const core::Node& node, TensorId output) {
    const auto inputs = m_context->inputs(rank, node);
    std::vector<TensorId> open(inputs.begin(), inputs.end()), known;
    std::vector<bool> seen(m_graph.tensors().size());
    while (!open.empty()) {
      const TensorId tensor = open.back();
      open.pop_back();
      if (seen[tensor.index()]) continue;
      seen[tensor.index()] = true;
      if (state(rank, tensor) == State::kNonFinite) return;  // a consequence
      const core::TensorInfo& info = m_graph.tensor(tensor);
      if (state(rank, tensor) == State::kFinite)
        known.push_back(tensor);
      else if (!info.isSource())
        std::ranges::copy(m_context->inputs(rank, m_graph.node(info.producer)), std::back_inserter(open));
    }
    const bool updates = node.phase == core::Phase::kUpdate;  // states have no rows where a step made them
    if (isOutside(node) || (updates && blamed(rank, node, output))) return reportOrigin(rank, node, output);
    std::string detail = "at or before " + node.name;
    const auto last =
        std::ranges::max_element(known, {}, [&](TensorId t) { return m_graph.tensor(t).producer; });
    detail += last == known.end()
                  ? "; nothing is recorded before it"
                  : "; nothing recorded between " + m_graph.tensor(*last).fullName() + " and " + node.name;
    report(rank, output, std::move(detail));
  }

  void report(Rank rank, TensorId tensor, std::string detail, std::string advice = {}) {
    const Place place{m_iteration, rank, tensor};
    Finding finding = findingAt(*m_context, place, precedence::kNonfinite);
    if (!detail.empty()) finding.detail = std::move(detail);
    finding.advice = std::move(advice);
    if (const StatisticsRow* row = m_context->rows.flagsNow(rank, tensor)) {
      finding.count = row->values.nonFinite();
      finding.actual = static_cast<double>(finding.count);
    }
    if (const core::Result<core::Tensor> value = m_context->source.value(rank, m_iteration, tensor); value)
      finding.element = firstNonFinite(*value);
    m_context->findings.push_back(std::move(finding));
  }

  EvaluationContext* m_context = nullptr;  // of the iteration
  std::set<Rank> m_received;               // ranks that have had their arrival
  std::set<Rank> m_sick;                   // ranks of which a fault was found
  const core::Graph& m_graph;
  bool m_recommended, m_toldWhereItGrew = false;
  NonFinite m_nonFinite;
  ScalerSkips m_skips;
  DataOrigins m_data;
  std::vector<TensorId> m_updates, m_sources, m_losses;
  std::int64_t m_alwaysFinite;  // how many tensors are of whole numbers
  Iteration m_iteration;
  std::map<Rank, std::vector<State>> m_states;
};

}  // namespace

ConditionDef nonfinitePropagationCondition() {
  ConditionDef def;
  def.id = "nonfinite_propagation";
  def.title = "Origin of NaN or Inf";
  def.effect = Effect::kNonFinite;
  def.doc =
      "The first operator in order whose inputs are all finite and whose output holds NaN or Inf. The inputs "
      "of a"
      " collective are those of all ranks: a rank that is reached through one says from which rank. "
      "Where no tensor is recorded, the first iteration in which the recorded loss is no number. "
      "Recommended: without the -Inf of masks; what is beside the loss and gets to no gradient or weight is "
      "a hint.";
  def.advice =
      "Look at this operator's inputs: a division by zero, the logarithm of zero, an overflow of exp or of a"
      " product, a learning rate that is too large, or broken hardware.";
  def.needsAllRanks = true;
  def.make = [](const core::Graph& graph, const Parameters&, bool recommended) -> std::unique_ptr<Evaluator> {
    return std::make_unique<Propagation>(graph, recommended);
  };
  return def;
}

}  // namespace msdbg::watch
