#include "watchpoints/conditions/rows.h"

#include <algorithm>
#include <iterator>

#include "core_engine/tensor/flags.h"

namespace msdbg::watch {

using core::Iteration;
using core::Rank;
using core::TensorId;
using core::TensorInfo;

core::Rank EvaluationContext::rankWith(TensorId tensor) const {
  for (const Rank rank : ranks) {
    if (step.whole()) return rank;
    const core::GraphPart* part = source.part(rank, iteration);
    if (!part || (tensor.valid() && part->has(tensor))) return rank;
  }
  return ranks.empty() ? Rank() : ranks.front();
}

RowWalk::RowWalk(const core::Graph& graph, std::vector<TensorId> tensors, bool recommended)
    : m_tensors(std::move(tensors)), m_skips(recommended) {
  const std::vector<TensorId> updates = updatesByParameter(graph);
  for (const TensorId tensor : m_tensors) {
    m_updates.push_back(updates[tensor.index()]);
    m_once.push_back(recommended && isReplicated(graph, graph.tensor(tensor)));
  }
}

bool madeByAnUpdateSeen(EvaluationContext& context, Rank rank, TensorId update) {
  return update.valid() && context.beforeSelected && context.rows.before(rank, update) != nullptr;
}

/// Made by an operator of another framework, or a source of a program of such: it may be that nothing reads
/// it any more.
static bool isForeign(const core::Graph& graph, TensorId tensor) {
  const core::NodeId maker = graph.tensor(tensor).producer;
  if (maker.valid()) return !graph.node(maker).isOwn();
  return !graph.nodes().empty() && !graph.nodes().front().isOwn();
}

const StatisticsRow* RowWalk::rowOf(EvaluationContext& context, Rank rank, std::size_t i) const {
  if (madeByAnUpdateSeen(context, rank, m_updates[i])) return nullptr;
  if (m_flags && m_updates[i].valid() && context.beforeSelected &&
      context.rows.flagsBefore(rank, m_updates[i]))
    return nullptr;
  const StatisticsRow* row = read(context, rank, i);
  if (!row) {
    if (!m_skips || !isForeign(context.graph(), m_tensors[i]) ||
        context.rows.missingReason(rank, m_tensors[i]) != "no_value")
      missingRow(context, {context.iteration, rank, m_tensors[i]});
    return nullptr;
  }
  const Rank once = m_once[i] ? context.rankWith(m_tensors[i]) : rank;
  if (rank == once) return row;
  const StatisticsRow* first = read(context, once, i);
  const bool same = first && first->values.hash == row->values.hash && !core::isFlags(row->values);
  return same ? nullptr : row;
}

std::span<const TensorId> RowWalk::tensorsOf(const core::GraphPart* part) const {
  if (!part) return m_tensors;
  const auto [known, isNew] = m_ofPart.try_emplace(part);
  if (isNew)
    std::ranges::copy_if(m_tensors, std::back_inserter(known->second),
                         [&](TensorId tensor) { return part->has(tensor); });
  return known->second;
}

RowWalk::RankIterator RowWalk::pastThinned(EvaluationContext& context, RankIterator rank) const {
  if (!context.rows.thinned(*rank)) return rank;
  const RankIterator begin = rank;
  const core::GraphPart* const part = context.source.part(*begin, context.iteration);
  while (rank != context.ranks.end() && context.rows.thinned(*rank) &&
         context.source.part(*rank, context.iteration) == part)
    ++rank;
  const std::int64_t ranks = rank - begin;
  context.notEvaluable.addEach(tensorsOf(part), {{},
                                                 "thinned",
                                                 context.iteration,
                                                 ranks == 1 ? *begin : Rank(),
                                                 {},
                                                 "no statistics of it can be read",
                                                 ranks});
  return rank;
}

namespace {

class EveryRow : public Evaluator {
 public:
  EveryRow(RowWalk walk, RowQuestion question) : m_walk(std::move(walk)), m_question(question) {}
  void evaluate(EvaluationContext& context) override {
    m_walk.forEach(context,
                   [&](const Place& place, const StatisticsRow& row) { m_question(context, place, row); });
  }

 private:
  RowWalk m_walk;
  RowQuestion m_question;
};

class OnceOfGraph : public Evaluator {
 public:
  explicit OnceOfGraph(GraphQuestion question) : m_question(question) {}
  void evaluate(EvaluationContext& context) override {
    if (m_asked || context.ranks.empty()) return;
    m_asked = true;
    ++context.evaluated;
    const std::size_t before = context.findings.size();
    m_question(context);
    for (std::size_t i = before; i < context.findings.size(); ++i) place(context, context.findings[i]);
  }

 private:
  /// In the first iteration that has the node: training may come to it late (a student after its teacher).
  static void place(const EvaluationContext& context, Finding& finding) {
    if (!finding.node.valid()) return;
    const core::GraphPart* absent = nullptr;  // many iterations have the same part
    for (const Iteration iteration : context.source.iterations(finding.rank)) {
      if (iteration < finding.iteration || !context.selected(iteration)) continue;
      const core::GraphPart* part = context.source.part(finding.rank, iteration);
      if (part && (part == absent || !part->has(finding.node))) {
        absent = part;
        continue;
      }
      finding.iteration = iteration;
      return;
    }
  }

  GraphQuestion m_question;
  bool m_asked = false;
};

}  // namespace

std::unique_ptr<Evaluator> onceOfGraph(GraphQuestion question) {
  return std::make_unique<OnceOfGraph>(question);
}

Finding findingAtNode(const EvaluationContext& context, core::NodeId node, std::string detail) {
  const TensorId output = context.graph().node(node).outputs.front();
  Finding finding =
      findingAt(context, {context.iteration, context.rankWith(output), output}, precedence::kStructure);
  finding.node = node;
  finding.detail = std::move(detail);
  return finding;
}

std::unique_ptr<Evaluator> everyRow(RowWalk walk, RowQuestion question) {
  return std::make_unique<EveryRow>(std::move(walk), question);
}

Finding findingAt(const EvaluationContext& context, const Place& place, int precedence) {
  const TensorInfo& info = context.graph().tensor(place.tensor);
  Finding finding;
  finding.iteration = place.iteration;
  finding.rank = place.rank;
  finding.node = info.producer;
  finding.tensor = place.tensor;
  finding.precedence = precedence;
  const bool updated =
      info.role == core::TensorRole::kParameter || info.role == core::TensorRole::kOptimizerState;
  if (updated && place.iteration.value > 0)
    finding.detail = "so when the iteration began: the update of iteration " +
                     std::to_string(place.iteration.value - 1) + " is not recorded or not selected";
  return finding;
}

void notEvaluable(EvaluationContext& context, const Place& place, std::string_view reason,
                  std::string detail) {
  context.notEvaluable.add(
      {{}, std::string(reason), place.iteration, place.rank, place.tensor, std::move(detail), 1});
}

void missingRow(EvaluationContext& context, const Place& place) {
  notEvaluable(context, place, context.rows.missingReason(place.rank, place.tensor),
               "no statistics of it can be read");
}

bool finite(EvaluationContext& context, const Place& place, const core::TensorStatistics& values) {
  if (values.nonFinite() == 0) return true;
  notEvaluable(context, place, values.nan > 0 ? "nan" : "inf");
  return false;
}

namespace {

bool compares(std::string_view parameter, double actual, double preset) {
  if (parameter.ends_with("_gt")) return actual > preset;
  if (parameter.ends_with("_lt")) return actual < preset;
  if (parameter.ends_with("_ge")) return actual >= preset;
  return actual <= preset;
}

}  // namespace

std::optional<Exceeded> exceeded(const Parameters& parameters, std::initializer_list<Measure> measures) {
  for (const Measure& measure : measures) {
    const std::optional<double> given = numberOf(parameters, measure.parameter);
    if (given && compares(measure.parameter, measure.actual, *given))
      return Exceeded{measure.parameter, *given, measure.actual};
  }
  return std::nullopt;
}

void evaluateMeasures(EvaluationContext& context, const Parameters& parameters, const Place& place,
                      int precedence, std::initializer_list<Measure> measures) {
  ++context.evaluated;
  const std::optional<Exceeded> hit = exceeded(parameters, measures);
  if (!hit) return;
  Finding finding = findingAt(context, place, precedence);
  finding.parameter = hit->parameter;
  finding.preset = hit->preset;
  finding.actual = hit->actual;
  context.findings.push_back(std::move(finding));
}

double zeroPercentage(const core::TensorStatistics& values) {
  return values.count == 0 ? 0 : 100.0 * static_cast<double>(values.zero) / static_cast<double>(values.count);
}

}  // namespace msdbg::watch
