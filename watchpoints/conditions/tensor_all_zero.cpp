#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "watchpoints/blame/blame.h"
#include "watchpoints/conditions/cancelling_uses.h"
#include "watchpoints/conditions/gradient_cause.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/scaler_skips.h"
#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {
namespace {

/// Weights (as parameters and as the outputs of their updates) and their gradients. Gradients of activations
/// are left out: where a layer is dead they are zero for a reason that dead_relu names.
bool recommendedTarget(const core::Graph& graph, const core::TensorInfo& info) {
  return isWeight(info) || isWeightUpdate(graph, info) || isParameterGradient(graph, info);
}

/// The program itself sets it to a number, as a layer is begun anew: most likely on purpose.
bool isSet(const core::Graph& graph, core::TensorId tensor) {
  static constexpr auto kSets = std::to_array<std::string_view>({"aten.zero_", "aten.fill_"});
  return isOneOf(producerOf(graph, tensor), kSets);
}

void evaluateRow(EvaluationContext& context, const Place& place, const StatisticsRow& row) {
  if (!finite(context, place, row.values)) return;
  evaluateMeasures(context, place, precedence::kAllZero,
                   {{"zero_percentage_ge", zeroPercentage(row.values)}});
}

/// Of the recommended set. A gradient that is all zero is named where zeros begin, once an iteration, and not
/// at all where that is right: a factor that starts at zero and moves, a bias that a normalisation takes out,
/// a loss of zero. Dead Relus are dead_relu's, saturated activations gradient_vanishing's.
class RecommendedZeros : public Evaluator {
 public:
  explicit RecommendedZeros(const core::Graph& graph)
      : m_walk(graph,
               selectTensors(graph, [&](const core::TensorInfo& i) { return recommendedTarget(graph, i); }),
               true),
        m_outcome(graph) {
    for (const ParameterUpdate& update : parameterUpdates(graph))
      m_gradients[update.parameter] = update.gradient;
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    m_causes.clear();
    lookAtData(context);
    if (context.iteration.value == 0 && m_outcome.tensor().valid() && !context.ranks.empty())
      m_nothing = isNothing(context, context.rankWith(m_outcome.tensor()));
    m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      if (stepIsSkipped(context, place.rank) && isGradient(context.graph().tensor(place.tensor))) return;
      if (!finite(context, place, row.values)) return;
      ++context.evaluated;
      if (!allZero(row.values)) {
        moved(context, place) = true;
        m_begins.erase({place.rank, place.tensor});
        m_cancelling.moved(place);
        m_single.erase({place.rank, place.tensor});
        return;
      }
      if (isGradient(context.graph().tensor(place.tensor)))
        visitGradient(context, place);
      else
        visitWeight(context, place);
    });
    for (auto& [place, finding] : m_causes) context.findings.push_back(std::move(finding));
  }

  void finish(EvaluationContext& context) override {
    for (auto& [place, finding] : m_begins) context.findings.push_back(std::move(finding));
    for (auto& [place, finding] : m_zeroData) context.findings.push_back(std::move(finding));
    m_cancelling.finish(context);
    for (auto& [place, batches] : m_batches)
      if (batches.isOneOfMany()) addEmptyBatch(context, batches);
    if (isNothingFromTheStart()) addNothing(context);
  }

 private:
  using Kind = ZeroCause::Kind;
  static constexpr double kFitted = 1e-3;  // a loss below has been fitted, and has no gradient left
  static constexpr double kExact = 1e-6;

  static bool allZero(const core::TensorStatistics& values) {
    return values.count > 0 && values.zero == values.count;
  }

  /// A mask or a label may be zero in one batch; data that always are hold nothing. Samples that are zero in
  /// one batch of many were not read.
  void lookAtData(EvaluationContext& context) {
    for (const core::TensorInfo& info : context.graph().tensors()) {
      if (info.role != core::TensorRole::kInput && info.role != core::TensorRole::kLabel) continue;
      const bool samples = info.role == core::TensorRole::kInput && isFloating(info.dtype) &&
                           info.shape.rank() > 1 && !info.trainable;
      for (const core::Rank rank : context.ranks) {
        const StatisticsRow* row = context.rows.now(rank, info.id);
        if (!row || row->values.count == 0) continue;
        if (samples) m_batches[{rank, info.id}].add(context, rank, info.id, row->values);
        if (!allZero(row->values)) m_filled.insert(info.id), m_zeroData.erase(info.id);
      }
    }
  }

  /// An input over the iterations.
  struct Batches {
    std::int64_t filled = 0, empty = 0;
    bool sparse = false;  // one of them is mostly zero, as masks are
    bool begins = false;  // the first one is zero, as a state is that is carried on
    std::optional<Finding> first;

    void add(EvaluationContext& context, core::Rank rank, core::TensorId tensor,
             const core::TensorStatistics& values) {
      if (values.zero < values.count) {
        ++filled;
        sparse = sparse || 10 * values.zero > 9 * values.count;
      } else if (empty++ == 0) {
        begins = filled == 0;
        first = findingAt(context, {context.iteration, rank, tensor}, precedence::kAllZero);
      }
    }
    bool isOneOfMany() const { return empty == 1 && filled >= 10 && !sparse && !begins; }
  };

  void addEmptyBatch(EvaluationContext& context, Batches& batches) const {
    Finding& finding = *batches.first;
    finding.parameter = "zero_percentage_ge";
    finding.preset = finding.actual = 100;
    finding.detail = "every element of this batch is zero, of none of the other " +
                     std::to_string(batches.filled) +
                     " batches: what fills it failed, or reads a place where nothing is";
    finding.advice = "Look at what the loader read for this batch.";
    context.findings.push_back(std::move(finding));
  }

  void addZeroData(EvaluationContext& context, const Place& place) {
    if (m_filled.contains(place.tensor) || m_zeroData.contains(place.tensor)) return;
    Finding finding = findingAt(context, place, precedence::kAllZero);
    finding.parameter = "zero_percentage_ge";
    finding.preset = finding.actual = 100;
    finding.detail = "it is all zero where it enters the graph, in every iteration that is looked at";
    finding.advice = "Look at what fills it: the loader, or a tensor that was made and never written.";
    m_zeroData.emplace(place.tensor, std::move(finding));
  }

  /// A hinge may be 0 from the start: what it asks for holds already.
  bool isNothing(EvaluationContext& context, core::Rank rank) const {
    const StatisticsRow* row = context.rows.now(rank, m_outcome.tensor());
    if (!row || !allZero(row->values)) return false;
    const Kind cause = zeroCause(context, rank, m_outcome.tensor()).kind;
    return cause != Kind::kActivation && cause != Kind::kConstant;
  }

  /// What was learnt may end at a loss of 0; nothing else begins there.
  bool isNothingFromTheStart() const {
    constexpr std::size_t kLeast = 10;
    const std::vector<Outcome::Loss>& losses = m_outcome.losses();
    return m_nothing && losses.size() >= kLeast && losses.front().iteration.value == 0 &&
           std::ranges::all_of(losses, [](const Outcome::Loss& loss) { return loss.value == 0; });
  }

  void addNothing(EvaluationContext& context) const {
    const core::TensorId loss = m_outcome.tensor();
    if (!loss.valid()) return;
    Finding finding =
        findingAt(context, {core::Iteration(0), context.rankWith(loss), loss}, precedence::kAllZero);
    finding.parameter = "zero_percentage_ge";
    finding.preset = finding.actual = 100;
    finding.detail = "the loss is exactly 0 in every iteration from the first on: nothing is compared";
    finding.advice = "Look at the weights and masks of the loss: what do they leave?";
    context.findings.push_back(std::move(finding));
  }

  /// Zero-initialised parameters have to move only if there is a gradient.
  void visitWeight(EvaluationContext& context, const Place& place) {
    const core::TensorInfo& info = context.graph().tensor(place.tensor);
    const core::TensorInfo& parameter = info.isSource() ? info : context.graph().tensor(info.updateOf);
    if (mayStartAtZero(parameter)) {
      const StatisticsRow* before = context.rows.now(place.rank, parameter.id);
      if (info.isSource() || !before || allZero(before->values)) return;
    }
    add(context, place, info.producer, "");
    if (isSet(context.graph(), place.tensor))
      m_causes.at({place.rank, place.tensor}).severity = Severity::kHint;
  }

  void visitGradient(EvaluationContext& context, const Place& place) {
    if (isRoundingNoise(context, place.rank, place.tensor)) return lookAtUses(context, place);
    if (mayBeChance(context, place)) return;
    const ZeroCause cause = zeroCause(context, place.rank, place.tensor);
    if (cause.kind == Kind::kHere && isSumOfUses(context.graph().node(cause.node)))
      return lookAtUses(context, place);
    if (!isTraced(context.graph(), cause) && !moved(context, place)) return waitForIt(context, place, cause);
    if (cause.kind == Kind::kHere && moved(context, place) && mayReadZeros(context, place.rank, cause.node))
      return;
    visitCause(context, place, cause);
  }

  /// A recorder that folds views shows the whole of what a product reads a slice of: where that holds as many
  /// zeros as a slice has elements, the slice may be all zero, as of an expert that a gate did not choose.
  static bool mayReadZeros(EvaluationContext& context, core::Rank rank, core::NodeId id) {
    static constexpr auto kOfSlices = std::to_array<std::string_view>(
        {"Gemm", "aten.mm", "aten.addmm", "aten.mv", "ReduceSum", "aten.sum"});
    const core::Node& node = context.graph().node(id);
    if (node.domain != "aten" || !isOneOf(&node, kOfSlices)) return false;
    const auto isPartlyZero = [&](core::TensorId input) {
      const core::TensorInfo& info = context.graph().tensor(input);
      const core::Shape& shape = info.shape;
      const StatisticsRow* row = context.rows.now(rank, input);
      if (!row || info.role != core::TensorRole::kGradient || !shape.known() || shape.rank() < 3)
        return false;
      std::int64_t slices = 1;
      for (std::size_t i = 0; i + 1 < shape.rank(); ++i)
        if (shape[i] > 1 && (slices == 1 || shape[i] < slices)) slices = shape[i];
      return slices > 1 && row->values.zero >= row->values.count / slices;
    };
    return std::ranges::any_of(node.inputs, isPartlyZero);
  }

  /// The terms of a single sum may cancel to the last bit, once.
  bool mayBeChance(EvaluationContext& context, const Place& place) {
    constexpr int kOften = 3;  // iterations on end
    const StatisticsRow* row = context.rows.now(place.rank, place.tensor);
    if (!row || row->values.count != 1 || !moved(context, place)) return false;
    return ++m_single[{place.rank, place.tensor}] < kOften;
  }

  std::vector<bool>::reference moved(EvaluationContext& context, const Place& place) {
    std::vector<bool>& all = m_moved[place.rank];
    if (all.empty()) all.resize(context.graph().tensors().size());
    return all[place.tensor.index()];
  }

  /// To something in the forward or backward pass: not where modules and operators are not recorded, nor
  /// where clipping changed the gradient in its place.
  static bool isTraced(const core::Graph& graph, const ZeroCause& cause) {
    if (cause.kind == Kind::kUnknown) return false;
    if (cause.kind != Kind::kHere) return true;
    const core::Node& node = graph.node(cause.node);
    if (isWithoutOperators(graph, node)) return false;
    const auto isGradientOf = [&](core::TensorId input) { return isGradient(graph.tensor(input)); };
    return node.phase == core::Phase::kForward ||
           (node.phase == core::Phase::kBackward && std::ranges::any_of(node.inputs, isGradientOf));
  }

  /// One that is zero in its first iterations and not later is behind a gate that starts at zero (LoRA, a
  /// zero-initialised residual), or a warm-up's first rate is 0: said at the end, if it never moves, or while
  /// training goes on once it has not for some iterations.
  void waitForIt(EvaluationContext& context, const Place& place, const ZeroCause& cause) {
    constexpr std::int64_t kPatience = 10;
    if (const auto begun = m_begins.find({place.rank, place.tensor}); begun != m_begins.end()) {
      const std::int64_t since = begun->second.iteration.value;
      if (context.online && place.iteration.value >= since + kPatience) visitCause(context, place, cause);
      return;
    }
    std::map<std::pair<core::Rank, core::TensorId>, Finding> here;
    std::swap(m_causes, here);
    visitCause(context, place, cause);
    std::swap(m_causes, here);
    if (!here.empty()) m_begins.emplace(std::pair(place.rank, place.tensor), std::move(here.begin()->second));
  }

  void lookAtUses(EvaluationContext& context, const Place& place) {
    if (!moved(context, place)) m_cancelling.look(context, place);
  }

  void visitCause(EvaluationContext& context, const Place& place, const ZeroCause& cause) {
    const auto at = [&](core::TensorId tensor) { return Place{place.iteration, place.rank, tensor}; };
    const core::Graph& graph = context.graph();
    switch (cause.kind) {
      case Kind::kActivation:
        return;  // dead_relu's, or gradient_vanishing's: its values are not zero
      case Kind::kFactor:
        return visitFactor(context, at(cause.tensor), cause.node);
      case Kind::kData:
        return addZeroData(context, at(cause.tensor));
      case Kind::kConstant:
        return add(context, at(graph.node(cause.node).outputs.front()), cause.node,
                   "multiplied by " + graph.tensor(cause.tensor).name +
                       ", which is 0: what it is multiplied with gets no gradient and has no effect");
      case Kind::kLoss:
        if (lossBelow(context, place.rank, kFitted)) return;
        return add(context, at(cause.tensor), cause.node, "the loss sends no gradient back");
      case Kind::kHere:
        // Of a fit that is as good as exact, what is left may cancel to the last bit.
        if (lossBelow(context, place.rank,
                      graph.node(cause.node).phase == core::Phase::kForward ? kFitted : kExact))
          return;
        return add(context, at(cause.tensor), cause.node, "");
      case Kind::kUnknown:
        return add(context, place, graph.tensor(place.tensor).producer, "");
    }
  }

  /// A product of two factors that both start at zero never leaves it.
  void visitFactor(EvaluationContext& context, const Place& place, core::NodeId reader) {
    const core::TensorInfo& factor = context.graph().tensor(place.tensor);
    const auto gradient = m_gradients.find(factor.id);
    if (gradient == m_gradients.end())
      return add(context, {place.iteration, place.rank, context.graph().node(reader).outputs.front()}, reader,
                 "multiplied by " + factor.name + ", which is 0 and does not train");
    const StatisticsRow* row = context.rows.now(place.rank, gradient->second);
    if (row && !allZero(row->values)) return;
    if (!row || context.rows.before(place.rank, gradient->second)) return;  // said where it began
    add(context, place, {},
        "it starts at zero and its gradient is zero too, as what it is multiplied with is zero: it never "
        "moves");
  }

  bool lossBelow(EvaluationContext& context, core::Rank rank, double bound) const {
    const StatisticsRow* row =
        m_outcome.tensor().valid() ? context.rows.now(rank, m_outcome.tensor()) : nullptr;
    return row && row->values.nonFinite() == 0 && std::abs(row->values.mean) < bound;
  }

  void add(EvaluationContext& context, const Place& place, core::NodeId node, std::string detail) {
    const auto [entry, isNew] = m_causes.try_emplace({place.rank, place.tensor});
    if (!isNew) return;
    Finding finding = findingAt(context, place, precedence::kAllZero);
    finding.node = node;
    finding.parameter = "zero_percentage_ge";
    finding.preset = finding.actual = 100;
    if (detail.empty()) detail = ofOneStep(context.graph(), place.tensor);
    if (detail.empty() && node.valid())
      if (const auto blame = blameInput(context.source, place.rank, place.iteration,
                                        context.graph().node(node), place.tensor, Wrong::kAllZero))
        detail = blame->sentence();
    if (!detail.empty()) finding.detail = std::move(detail);
    if (node.valid() && context.graph().node(node).phase == core::Phase::kForward)
      finding.advice = "Look at what makes it zero: a constant, a mask, a state that was never taken over.";
    entry->second = std::move(finding);
  }

  /// The weight between steps of a recurrent layer of PyTorch that it is the gradient of; invalid: it is
  /// none.
  static core::TensorId weightBetweenSteps(const core::Graph& graph, core::TensorId gradient) {
    const auto isIt = [&](core::TensorId parameter) {
      return parameter.valid() && graph.tensor(parameter).name.find("/weight_hh_l") != std::string::npos;
    };
    const core::TensorInfo& info = graph.tensor(gradient);
    if (!info.isSource()) {  // the second weight that it reads, the second gradient that it gives
      const core::Node& node = graph.node(info.producer);
      const bool layer = node.opType == "aten.mkldnn_rnn_layer_backward" && info.slot == 2;
      if (layer && node.inputs.size() > 2 && isIt(node.inputs[2])) return node.inputs[2];
    }
    for (const core::NodeId user : graph.consumers(gradient))
      for (const core::TensorId output : graph.node(user).outputs)
        if (isIt(graph.tensor(output).gradientOf)) return graph.tensor(output).gradientOf;
    return {};
  }

  static std::string ofOneStep(const core::Graph& graph, core::TensorId gradient) {
    const core::TensorId weight = weightBetweenSteps(graph, gradient);
    if (!weight.valid()) return {};
    return "it is the gradient of " + graph.tensor(weight).name +
           ", which carries the state from step to step: of all steps no more than the first has a part in "
           "the loss, as out[:, 0] where out[:, -1] was meant";
  }

  RowWalk m_walk;
  Outcome m_outcome;
  bool m_nothing = false;                                // the first loss is 0, and no hinge makes it so
  std::map<core::TensorId, core::TensorId> m_gradients;  // that the update of each parameter reads
  std::map<std::pair<core::Rank, core::TensorId>, Finding> m_causes;  // of this iteration
  std::map<core::Rank, std::vector<bool>> m_moved;  // by tensor: gradients that were not zero once
  std::map<std::pair<core::Rank, core::TensorId>, Finding> m_begins;  // of those that never were yet
  CancellingUses m_cancelling;
  std::map<std::pair<core::Rank, core::TensorId>, int> m_single;  // gradients of one element: zero so often
  std::map<core::TensorId, Finding> m_zeroData;                   // inputs that were zero so far
  std::map<std::pair<core::Rank, core::TensorId>, Batches> m_batches;
  std::set<core::TensorId> m_filled;  // inputs that were not
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters& parameters, bool recommended) {
  if (recommended) return std::make_unique<RecommendedZeros>(graph);
  const auto all = selectTensors(graph, [](const core::TensorInfo&) { return true; });
  return everyRow(RowWalk(graph, chosenTensors(graph, parameters, all), false), evaluateRow);
}

}  // namespace

ConditionDef tensorAllZeroCondition() {
  ConditionDef def;
  def.id = "tensor_all_zero";
  def.title = "Tensor all zero";
  def.effect = Effect::kSilent;
  def.doc =
      "100 * zeros / n reaches a threshold (MindInsight). Recommended: on weights and on gradients of "
      "parameters; a gradient is named where its zeros begin, and not where a factor starts at zero and "
      "moves, a normalisation takes a bias out again, or the loss has nothing left to tell. A weight that "
      "the program itself sets to zero (zero_, fill_) is a hint.";
  def.advice =
      "For a gradient: is the layer cut off from the loss, dead, or frozen? For a weight: look at its update "
      "and its initialisation.";
  def.parameters = {{"zero_percentage_ge", ParameterType::kPct, 100.0,
                     "hit if this share of the elements, or more, is zero"},
                    tensorsParameter()};
  def.make = make;
  return def;
}

}  // namespace msdbg::watch
