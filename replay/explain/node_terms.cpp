#include <algorithm>
#include <cmath>

#include "core_engine/ops/reference_run.h"
#include "replay/explain/node_terms_internal.h"
#include "watchpoints/step.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Node;
using core::Result;
using core::Tensor;

namespace {

constexpr std::int64_t kMostFlops = 4'000'000'000;
constexpr std::size_t kMostBytes = std::size_t{1} << 29;

/// NaN before infinities before numbers, these by magnitude.
double weightOf(const Term& term) {
  const double c = std::abs(term.contribution);
  return std::isnan(c) ? INFINITY : std::isinf(c) ? std::numeric_limits<double>::max() : c;
}

/// Keeps of all terms and other elements what a step shows and what may be followed: so many of them.
class Gatherer : public TermSink {
 public:
  Gatherer(const Node& node, std::size_t most) : m_node(node), m_most(std::max<std::size_t>(most, 1)) {}

  void ofRank(core::Rank rank, const Node& node, const std::vector<Tensor>& inputs) {
    m_rank = rank;
    m_node = node;
    m_shapes.clear();
    for (const Tensor& input : inputs) m_shapes.push_back(input.shape());
  }

  void term(const Term& given) override {
    ++m_terms.shown.count;
    if (std::isfinite(given.contribution)) {
      m_terms.shown.sum += given.contribution;
      m_terms.shown.magnitude += std::abs(given.contribution);
    } else {
      ++m_terms.shown.notFinite;
      for (const Factor& f : given.factors()) follow(f, m_wrongFactor);
    }
    keep(given);
  }

  void read(const Factor& factor) override {
    ++m_terms.shown.reads;
    if (!std::isfinite(factor.value)) ++m_terms.shown.readsNotFinite;
    follow(factor, m_wrongRead);
    if (m_reads.size() < m_most) m_reads.push_back(shown(factor));
    if (m_largest.size() <= factor.input) m_largest.resize(factor.input + 1);
    std::optional<ExplainedFactor>& largest = m_largest[factor.input];
    if (!m_first) m_first = shown(factor);
    if (!largest || std::abs(factor.value) > std::abs(largest->value)) largest = shown(factor);
  }

  NodeTerms finish(Relation relation) {
    m_terms.relation = relation;
    for (const auto& [term, shownTerm] : m_kept) m_terms.shown.largest.push_back(shownTerm);
    for (ExplainedTerm& t : m_terms.shown.largest)
      if (std::isfinite(t.contribution) && m_terms.shown.magnitude > 0)
        t.share = std::abs(t.contribution) / m_terms.shown.magnitude;
    m_terms.notFinite = m_wrongFactor ? m_wrongFactor : m_wrongRead;
    if (!m_terms.shown.largest.empty()) {
      m_terms.leading = m_terms.shown.largest.front().factors;
      m_terms.share = m_terms.shown.largest.front().share;
    }
    if (m_first) m_terms.arguments.push_back(*m_first);
    for (const auto& largest : m_largest)
      if (largest) m_terms.arguments.push_back(*largest);
    if (m_wrongRead) m_terms.shown.arguments.push_back(*m_wrongRead);
    if (!m_wrongRead || m_terms.shown.reads <= static_cast<std::int64_t>(m_most))
      m_terms.shown.arguments = m_reads;
    return std::move(m_terms);
  }

 private:
  ExplainedFactor shown(const Factor& f) const {
    return {m_node.inputs[f.input], m_rank, f.element, f.value, m_shapes[f.input]};
  }
  /// Takes the first; a NaN in place of an infinity.
  void follow(const Factor& f, std::optional<ExplainedFactor>& wrong) {
    if (std::isfinite(f.value) || (wrong && (std::isnan(wrong->value) || !std::isnan(f.value)))) return;
    wrong = shown(f);
  }
  void keep(const Term& term) {
    const double weight = weightOf(term);
    if (m_kept.size() == m_most && weight <= m_kept.back().first) return;
    ExplainedTerm t{.coefficient = term.coefficient, .contribution = term.contribution, .factors = {}};
    for (const Factor& f : term.factors()) t.factors.push_back(shown(f));
    const auto at = std::ranges::find_if(m_kept, [&](const auto& kept) { return kept.first < weight; });
    m_kept.insert(at, {weight, std::move(t)});
    if (m_kept.size() > m_most) m_kept.pop_back();
  }

  Node m_node;
  std::vector<core::Shape> m_shapes;  // of its inputs
  std::size_t m_most;
  core::Rank m_rank;
  NodeTerms m_terms;
  std::vector<std::pair<double, ExplainedTerm>> m_kept;  // heaviest first
  std::vector<ExplainedFactor> m_reads;
  std::vector<std::optional<ExplainedFactor>> m_largest;  // by input
  std::optional<ExplainedFactor> m_first, m_wrongFactor, m_wrongRead;
};

Result<std::vector<Tensor>> inputsOf(ExplainLook& look, const ExplainPlace& place, core::Rank rank,
                                     const Node& node) {
  std::vector<Tensor> inputs;
  for (const core::TensorId input : node.inputs) {
    MSDBG_ASSIGN(Tensor value, look.value(rank, place.iteration, input));
    inputs.push_back(std::move(value));
  }
  return inputs;
}

std::vector<const Tensor*> pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> list;
  for (const Tensor& t : tensors) list.push_back(&t);
  return list;
}

core::RunState stateOf(const ExplainLook& look, const ExplainPlace& place, core::Rank rank) {
  return {.iteration = place.iteration,
          .rank = rank,
          .ranks = look.run().rankCount(),
          .threads = 1,
          .seed = look.run().description().seed};
}

Result<std::vector<watch::Step::Call>> callsOf(ExplainLook& look, const ExplainPlace& place,
                                               const Node& node) {
  watch::Steps steps(look.source());
  watch::Step::Meeting meeting = steps.at(place.iteration).meeting(place.rank, node.id);
  if (!meeting.complete)
    return Error(ErrorCode::kUnavailable, "not all ranks of the collective are recorded");
  return std::move(meeting.senders);
}

std::size_t slotOf(ExplainLook& look, const ExplainPlace& place) {
  return static_cast<std::size_t>(std::max<std::int32_t>(look.graph().tensor(place.tensor).slot, 0));
}

}  // namespace

bool ExplainedTerms::cancels() const {
  constexpr double kLittle = 1e-2;
  return count > 1 && notFinite == 0 && std::abs(sum) < kLittle * magnitude;
}

Result<NodeTerms> termsOf(ExplainLook& look, const ExplainPlace& place, const Node& node) {
  const Dependence* row = findDependence(node);
  if (!row)
    return Error(ErrorCode::kUnsupported,
                 "how the elements of " + node.opType + " follow from its inputs is not known");
  std::vector<watch::Step::Call> calls = {{place.rank, node.id}};
  if (row->acrossRanks) {
    MSDBG_ASSIGN(calls, callsOf(look, place, node));
  }
  Gatherer gatherer(node, look.options().terms);
  Relation relation = Relation::kSum;
  for (const watch::Step::Call& call : calls) {
    const Node here = watch::nodeOn(look.source(), call.rank, place.iteration, look.graph().node(call.node));
    MSDBG_ASSIGN(const std::vector<Tensor> inputs, inputsOf(look, place, call.rank, here));
    gatherer.ofRank(call.rank, here, inputs);
    const std::vector<const Tensor*> list = pointers(inputs);
    MSDBG_ASSIGN(const Asked asked, Asked::make(here, list, slotOf(look, place), *place.element,
                                                stateOf(look, place, call.rank), gatherer));
    MSDBG_ASSIGN(relation, row->terms(asked));
  }
  return gatherer.finish(calls.size() > 1 ? Relation::kSum : relation);
}

Result<Tensor> computedHere(ExplainLook& look, const ExplainPlace& place, const Node& node) {
  const Dependence* row = findDependence(node);
  if (!row || row->acrossRanks) return Error(ErrorCode::kUnavailable, "it is not computed here");
  const Node here = watch::nodeOn(look.source(), place.rank, place.iteration, node);
  MSDBG_ASSIGN(const std::vector<Tensor> inputs, inputsOf(look, place, place.rank, here));
  std::vector<core::TensorType> types;
  std::size_t bytes = 0;
  for (const Tensor& t : inputs) types.push_back({t.dtype(), t.shape()}), bytes += t.bytes();
  const core::OpDef& op = *core::findOp(here);
  const bool own = inputs.size() >= op.minInputs && inputs.size() <= op.maxInputs;
  const auto made = own ? op.infer(types, here.attributes)
                        : Result<std::vector<core::TensorType>>(Error(ErrorCode::kUnsupported, "inputs"));
  const std::size_t slot = slotOf(look, place);
  if (!made.ok() || slot >= made->size()) return Error(ErrorCode::kUnavailable, "it does not fit its inputs");
  for (const core::TensorType& t : *made)
    bytes += static_cast<std::size_t>(t.shape.elements()) * core::dtypeSize(t.dtype);
  const bool hasFlops = op.flops && here.inputs == node.inputs;
  if (bytes > kMostBytes || (hasFlops && op.flops(look.graph(), node) > kMostFlops))
    return Error(ErrorCode::kUnavailable, "it would take too long");
  std::vector<Tensor> outputs;
  std::vector<Tensor*> written;
  for (const core::TensorType& t : *made) outputs.push_back(Tensor::zeros(t.dtype, t.shape));
  for (Tensor& t : outputs) written.push_back(&t);
  const std::vector<const Tensor*> list = pointers(inputs);
  const core::RunState state = stateOf(look, place, place.rank);
  MSDBG_TRY(core::runReference(op, {here, list, written, state}));
  return outputs[slot];
}

}  // namespace msdbg::replay
