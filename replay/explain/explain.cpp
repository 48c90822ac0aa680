#include "replay/explain/explain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "core_engine/base/text.h"
#include "core_engine/graph/graph_union.h"
#include "replay/explain/node_terms_internal.h"
#include "replay/inspect.h"
#include "watchpoints/blame/blame.h"
#include "watchpoints/conditions/targets.h"
#include "watchpoints/step.h"

namespace msdbg::replay {

using core::ErrorCode;
using core::Iteration;
using core::Node;
using core::Ok;
using core::Result;
using core::Status;
using core::Tensor;
using core::TensorId;
using core::TensorInfo;
using core::TensorRole;

namespace {

constexpr double kMostOfIt = 0.5;  // the share that makes a term the one to follow
// So many times the usual magnitude: elements of a tensor differ by that much, whole tensors do not.
constexpr double kRaisedElement = 30, kRaisedTensor = 3;

bool passes(ErrorCode code) { return code == ErrorCode::kUnavailable || code == ErrorCode::kUnsupported; }

class Walk {
 public:
  Walk(Run& run, const ExplainOptions& options)
      : m_look(run, options), m_updates(watch::updatesByParameter(m_look.graph())) {}

  Result<Explanation> from(const Beginning& beginning) {
    std::optional<ExplainPlace> at =
        ExplainPlace{beginning.tensor, beginning.rank, beginning.iteration, beginning.element, {}, {}};
    while (at) {
      const ExplainOptions& options = m_look.options();
      if (options.cancel.cancelled()) return core::Error(ErrorCode::kCancelled, "interrupted");
      if (options.progress) options.progress(static_cast<std::int64_t>(m_found.steps.size()));
      if (m_found.steps.size() >= options.depth) {
        m_found.cause = CauseKind::kDepth;
        break;
      }
      if (!m_seen.insert({at->tensor, at->rank, at->iteration, at->element}).second) {
        m_found.cause = CauseKind::kLoop;
        break;
      }
      MSDBG_TRY(begin(*at));
      MSDBG_ASSIGN(at, m_look.graph().tensor(at->tensor).isSource() ? beforeSource(*at) : beforeNode(*at));
    }
    for (std::size_t i = m_found.steps.size(); i-- > 0 && !m_found.made;)
      if (m_found.steps[i].madeHere) m_found.made = i;
    return std::move(m_found);
  }

 private:
  using Next = Result<std::optional<ExplainPlace>>;  // nullopt: it ends here

  ExplainedStep& step() { return m_found.steps.back(); }
  Next end(CauseKind cause, std::string why = {}) {
    const auto& otherHere = m_look.options().otherHere;
    if (cause == CauseKind::kNotReproduced && why.empty() && otherHere)
      if (const std::vector<std::string> other = otherHere(); !other.empty()) {
        cause = CauseKind::kUnknown;
        why = "computed again it is another value, and it is computed otherwise here: " + other.front() +
              (other.size() > 1 ? "; and more, that replay --prove tells" : "");
      }
    m_found.cause = cause;
    m_found.why = std::move(why);
    return std::optional<ExplainPlace>();
  }

  /// A step for the place, with its value where there is one.
  Status begin(ExplainPlace& at) {
    ExplainedStep& here = m_found.steps.emplace_back();
    here.tensor = at.tensor;
    here.rank = at.rank;
    here.iteration = at.iteration;
    m_missing.clear();
    m_raisedHere = std::exchange(m_raised, {});
    if (at.element && at.value) return tell(at);
    const Result<Tensor> value = m_look.value(at.rank, at.iteration, at.tensor);
    if (value.ok()) {
      at.shape = value->shape();
      if (!at.element) at.element = tellingElement(*value, m_look.options().cancel);
      if (at.element && *at.element < value->elements()) at.value = value->at(*at.element);
    } else if (!passes(value.error().code())) {
      return value.error();
    } else {
      m_missing = value.error().message();
    }
    return tell(at);
  }

  Status tell(ExplainPlace& at) {
    if (at.shape.rank() == 0) at.shape = shapeHere(at);
    step().shape = at.shape;
    step().element = at.element;
    step().value = at.value;
    if (at.value) step().unusual = m_look.unusualText(at.rank, at.iteration, at.tensor, *at.value);
    if (step().unusual.empty()) step().unusual = m_raisedHere;
    return Ok{};
  }

  static bool isWrong(const ExplainPlace& at) { return at.value && !std::isfinite(*at.value); }
  bool isUnusual(const ExplainedFactor& f, const ExplainPlace& at) {
    return !m_look.unusualText(f.rank, at.iteration, f.tensor, f.value).empty();
  }
  static ExplainPlace placeOf(const ExplainedFactor& f, const ExplainPlace& at) {
    return {f.tensor, f.rank, at.iteration, f.element, f.value, f.shape};
  }

  // --- sources -------------------------------------------------------------------------------------------
  Next beforeSource(const ExplainPlace& at) {
    const TensorInfo& info = m_look.graph().tensor(at.tensor);
    switch (info.role) {
      case TensorRole::kInput:
      case TensorRole::kLabel:
        if (at.element && at.shape.rank() > 0 && at.shape[0] > 0)
          m_found.sample = *at.element / (at.shape.elements() / at.shape[0]);
        return end(CauseKind::kSample);
      case TensorRole::kHyperparameter:
        return end(CauseKind::kHyperparameter);
      case TensorRole::kConstant:
        return end(CauseKind::kConstant);
      default:
        return beforeUpdate(at);
    }
  }

  /// As the rank's own graph has it; a scalar's where that does not say.
  core::Shape shapeHere(const ExplainPlace& at) {
    const core::GraphPart* part = m_look.source().part(at.rank, at.iteration);
    const core::Shape& shape = part && part->has(at.tensor) ? part->shape(m_look.graph(), at.tensor)
                                                            : m_look.graph().tensor(at.tensor).shape;
    return shape.known() && shape.elements() > 0 ? shape : core::Shape();
  }

  /// A parameter or state is what the update of the iteration before made of it.
  Next beforeUpdate(const ExplainPlace& at) {
    const TensorId update = m_updates[at.tensor.index()];
    Recomputable* source = m_look.run().recomputable();
    if (source && source->begunAnew(at.rank).contains(at.iteration.value) && at.iteration.value > 0)
      return end(CauseKind::kSetOutside);
    const Iteration before(at.iteration.value - 1);
    if (!update.valid() || !m_look.run().iterationSet(at.rank).contains(before.value))
      return end(CauseKind::kInitial);
    m_lastUpdate = !isWrong(at) && step().unusual.empty();
    return std::optional(ExplainPlace{update, at.rank, before, at.element, at.value, at.shape});
  }

  // --- nodes ---------------------------------------------------------------------------------------------
  Next beforeNode(ExplainPlace& at) {
    const Node& node = m_look.graph().node(m_look.graph().tensor(at.tensor).producer);
    const bool last = std::exchange(m_lastUpdate, false);
    step().node = node.id;
    if (!at.element || !at.value) {
      MSDBG_ASSIGN(const bool contradicts, computeValue(at, node));
      if (contradicts) return end(CauseKind::kNotReproduced);
    }
    if (!at.element) return byStatistics(at, node, m_missing);
    Result<NodeTerms> terms = termsOf(m_look, at, node);
    if (!terms.ok() && !passes(terms.error().code())) return terms.error();
    if (!terms.ok()) return byStatistics(at, node, terms.error().message());
    step().relation = terms->relation;
    step().terms = std::move(terms->shown);
    if (isWrong(at)) return beforeWrong(at, node, *terms);
    if (last) return raisedOr(CauseKind::kUpdate, at, *terms);
    return beforeNumber(at, *terms);
  }

  /// Where the value is not there: what the operator makes of its recorded inputs. Whether statistics have
  /// what is not finite, and that has nothing of the kind.
  Result<bool> computeValue(ExplainPlace& at, const Node& node) {
    const Result<Tensor> computed = computedHere(m_look, at, node);
    if (!computed.ok()) return passes(computed.error().code()) ? Result<bool>(false) : computed.error();
    const watch::StatisticsRow* row = m_look.source().statistics(at.rank, at.iteration, at.tensor);
    if (row && row->values.nonFinite() > 0 &&
        findNonFinite(*computed, 0, m_look.options().cancel).count() == 0)
      return true;
    at.shape = computed->shape();
    if (!at.element) at.element = tellingElement(*computed, m_look.options().cancel);
    if (at.element && *at.element < computed->elements()) at.value = computed->at(*at.element);
    MSDBG_TRY(tell(at));
    return false;
  }

  Next beforeWrong(ExplainPlace& at, const Node& node, const NodeTerms& terms) {
    if (terms.notFinite) return std::optional(placeOf(*terms.notFinite, at));
    const Result<Tensor> computed = computedHere(m_look, at, node);
    if (!computed.ok() && !passes(computed.error().code())) return computed.error();
    if (computed.ok() && *at.element < computed->elements() && std::isfinite(computed->at(*at.element)) &&
        !mayOverflow(at, terms))
      return end(CauseKind::kNotReproduced, core::formatShort(computed->at(*at.element)));
    step().madeHere = true;
    return beforeMade(at, node, terms);
  }

  /// Kernels add in the tensor's own dtype: what is finite in the end may overflow on the way.
  bool mayOverflow(const ExplainPlace& at, const NodeTerms& terms) const {
    return m_look.graph().tensor(at.tensor).dtype != core::DType::Float64 &&
           terms.shown.magnitude > static_cast<double>(std::numeric_limits<float>::max());
  }

  /// What is not finite was made here: on to what it was made of.
  Next beforeMade(const ExplainPlace& at, const Node& node, const NodeTerms& terms) {
    if (const ExplainedFactor* unusual = firstUnusual(at, terms.leading))
      return std::optional(placeOf(*unusual, at));
    if (const ExplainedFactor* unusual = firstUnusual(at, terms.arguments))
      return std::optional(placeOf(*unusual, at));
    if (terms.shown.count > 0) return followLeading(at, terms, CauseKind::kOperator);
    if (terms.arguments.empty()) return end(CauseKind::kOperator);
    // A divisor of 0 is what the division failed of.
    const bool divides = node.opType == "Div" && terms.arguments.back().value == 0;
    return std::optional(placeOf(divides ? terms.arguments.back() : terms.arguments.front(), at));
  }

  /// Before the way ends among numbers none of which is far beyond what is usual: on to the one that is
  /// furthest above it, where the iterations before tell that it has risen.
  Next raisedOr(CauseKind otherwise, const ExplainPlace& at, const NodeTerms& terms) {
    const ExplainedFactor* best = nullptr;
    double most = 1;
    const auto look = [&](const std::vector<ExplainedFactor>& factors) {
      for (const ExplainedFactor& f : factors) {
        const auto usual = m_look.usual(f.rank, at.iteration, f.tensor);
        if (!usual || !usual->fromHistory || usual->magnitude == 0) continue;
        const double magnitude = std::abs(f.value), raised = raisedBy(f, at, *usual);
        if (magnitude >= usual->magnitude && raised > most) best = &f, most = raised, m_raised = usual->text;
      }
    };
    look(terms.leading);
    for (const ExplainedTerm& term : step().terms.largest) look(term.factors);
    look(step().terms.arguments);
    if (!best) return end(otherwise);
    return std::optional(placeOf(*best, at));
  }

  /// By itself, or with its whole tensor; 1: just so much that it counts.
  double raisedBy(const ExplainedFactor& f, const ExplainPlace& at, const ExplainLook::Usual& usual) {
    const double alone = std::abs(f.value) / usual.magnitude;
    if (f.shape.elements() == 1) return alone / kRaisedTensor;
    const watch::StatisticsRow* row = m_look.source().statistics(f.rank, at.iteration, f.tensor);
    const double all = row && row->values.count > 0 ? row->values.meanAbs / usual.magnitude : 0;
    return std::max(alone / kRaisedElement, all / kRaisedTensor);
  }

  const ExplainedFactor* firstUnusual(const ExplainPlace& at, const std::vector<ExplainedFactor>& factors) {
    const auto found = std::ranges::find_if(factors, [&](const auto& f) { return isUnusual(f, at); });
    return found == factors.end() ? nullptr : &*found;
  }

  /// A finite value: on while one term, or one argument, makes most of it.
  Next beforeNumber(const ExplainPlace& at, const NodeTerms& terms) {
    const bool unusual = !step().unusual.empty();
    if (terms.shown.count > 0) {
      if (unusual)
        if (const ExplainedFactor* f = firstUnusual(at, terms.leading)) return std::optional(placeOf(*f, at));
      if (unusual)
        if (const ExplainedFactor* f = firstUnusual(at, terms.arguments))
          return std::optional(placeOf(*f, at));
      return followLeading(at, terms, CauseKind::kSpread);
    }
    if (terms.arguments.empty()) return end(CauseKind::kOperator);
    if (const ExplainedFactor* f = firstUnusual(at, terms.arguments)) return std::optional(placeOf(*f, at));
    if (unusual) return raisedOr(CauseKind::kOperator, at, terms);
    return std::optional(placeOf(terms.arguments.front(), at));
  }

  Next followLeading(const ExplainPlace& at, const NodeTerms& terms, CauseKind otherwise) {
    const bool only = terms.shown.count == 1;
    if (const ExplainedFactor* zero = zeroOf()) return std::optional(placeOf(*zero, at));
    if (terms.leading.empty() || (!only && terms.share <= kMostOfIt)) return raisedOr(otherwise, at, terms);
    for (const ExplainedFactor& f : terms.leading)
      if (m_look.graph().tensor(f.tensor).role == TensorRole::kHyperparameter && hasRisen(f, at))
        return std::optional(placeOf(f, at));
    return std::optional(placeOf(tellingFactor(at, terms.leading), at));
  }

  /// A rate that the program has raised tells more than the gradient that it is multiplied by.
  bool hasRisen(const ExplainedFactor& f, const ExplainPlace& at) {
    const auto usual = m_look.usual(f.rank, at.iteration, f.tensor);
    const bool risen = usual && usual->fromHistory && usual->magnitude > 0 && raisedBy(f, at, *usual) > 1;
    if (risen) m_raised = usual->text;
    return risen;
  }

  /// Where all terms are 0 no share tells: a factor that is 0 and no constant.
  const ExplainedFactor* zeroOf() {
    const ExplainedTerms& all = step().terms;
    if (all.magnitude != 0 || all.notFinite > 0) return nullptr;
    for (const ExplainedTerm& term : all.largest)
      for (const ExplainedFactor& f : term.factors)
        if (f.value == 0 && m_look.graph().tensor(f.tensor).role != TensorRole::kConstant) return &f;
    return nullptr;
  }

  /// Of a product that is 0 the factor that is; else what belongs to the iteration before parameters, which
  /// are as usual here; of equals that which is furthest above its usual magnitude.
  const ExplainedFactor& tellingFactor(const ExplainPlace& at, const std::vector<ExplainedFactor>& factors) {
    const ExplainedFactor* best = nullptr;
    std::tuple<bool, bool, double> most;
    for (const ExplainedFactor& f : factors) {
      const TensorRole role = m_look.graph().tensor(f.tensor).role;
      const bool kept = role == TensorRole::kParameter || role == TensorRole::kOptimizerState ||
                        role == TensorRole::kHyperparameter || role == TensorRole::kConstant;
      const std::tuple telling(f.value == 0, !kept, m_look.relative(f.rank, at.iteration, f.tensor, f.value));
      if (!best || telling > most) best = &f, most = telling;
    }
    return *best;
  }

  // --- where values do not tell --------------------------------------------------------------------------
  Next byStatistics(const ExplainPlace& at, const Node& node, const std::string& missing) {
    const watch::StatisticsRow* row = m_look.source().statistics(at.rank, at.iteration, at.tensor);
    const bool wrong = at.value ? isWrong(at) : row && row->values.nonFinite() > 0;
    const auto blame = watch::blameInput(m_look.source(), at.rank, at.iteration, node, at.tensor,
                                         wrong ? watch::Wrong::kNonFinite : watch::Wrong::kExtreme);
    if (!blame) return beyondComputed(at, missing);
    step().reason = blame->sentence();
    return std::optional(ExplainPlace{blame->tensor, blame->rank, at.iteration, blame->element, {}, {}});
  }

  /// What was computed again is not what was recorded since some place: that is where it went wrong.
  Next beyondComputed(const ExplainPlace& at, const std::string& missing) {
    const auto& differs = m_look.options().differs;
    const std::optional<Mismatch> since = differs ? differs() : std::nullopt;
    if (!since || since->iteration > at.iteration || since->tensor == at.tensor)
      return end(since && since->tensor == at.tensor ? CauseKind::kNotReproduced : CauseKind::kUnknown,
                 since ? "" : missing);
    if (!since->tensor.valid())  // only the digest of a thinned iteration tells
      return end(CauseKind::kUnknown,
                 "computed again, iteration " + std::to_string(since->iteration.value) + " of rank " +
                     std::to_string(since->rank.value) +
                     " is not what training had, and so is all that follows from it (msdbg replay --prove)");
    step().reason = "not stored, and computed again it is another: so is all that follows from the next";
    ExplainedStep& there = m_found.steps.emplace_back();
    there.tensor = since->tensor;
    there.rank = since->rank;
    there.iteration = since->iteration;
    there.node = m_look.graph().tensor(since->tensor).producer;
    return end(CauseKind::kNotReproduced);
  }

  ExplainLook m_look;
  std::vector<TensorId> m_updates;
  Explanation m_found;
  std::set<std::tuple<TensorId, core::Rank, Iteration, std::optional<std::int64_t>>> m_seen;
  std::string m_raised, m_raisedHere;  // what is usual of the place that is next, and of this one
  std::string m_missing;               // why the value of this place is not there
  bool m_lastUpdate = false;           // the next place is the update of a parameter that is as usual
};

}  // namespace

Result<Explanation> explain(Run& run, const Beginning& from, const ExplainOptions& options) {
  return Walk(run, options).from(from);
}

}  // namespace msdbg::replay
