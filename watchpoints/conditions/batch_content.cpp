// What the data look like where they enter the graph: labels that are all one class, inputs far from the size
// that networks are initialised for.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/outcome.h"

namespace msdbg::watch {
namespace {

using core::TensorId;
using core::TensorRole;

class BatchContent : public Evaluator {
 public:
  explicit BatchContent(const core::Graph& graph) : m_outcome(graph) {
    for (const core::TensorInfo& info : graph.tensors()) {
      if (info.role == TensorRole::kLabel && !isFloating(info.dtype)) m_labels.push_back(info.id);
      if (isCutToIndices(graph, info)) m_labels.push_back(info.id), m_cut.insert(info.id);
      const bool data = info.role == TensorRole::kInput || info.role == TensorRole::kLabel;
      if (data && isFloating(info.dtype) && !isNormalisedFirst(graph, info.id)) m_inputs.push_back(info.id);
    }
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    for (const core::Rank rank : context.ranks) {
      for (const TensorId label : m_labels) lookAtLabels(context, {context.iteration, rank, label});
      for (const TensorId input : m_inputs) lookAtInput(context, {context.iteration, rank, input});
    }
    if (context.ranks.size() > 1)
      for (const TensorId input : m_inputs) compareRanks(context, input);
    ++m_iterations;
  }

  void finish(EvaluationContext& context) override {
    for (auto& [place, outlier] : m_outliers)
      if (outlier.iterations >= kIterations && outlier.iterations == m_iterations)
        context.findings.push_back(std::move(outlier.finding));
    for (auto& [place, seen] : m_seen)
      if (seen.constant && seen.samples >= kSamples && seen.iterations >= kIterations)
        context.findings.push_back(std::move(seen.finding));
    for (Finding& finding : m_large)
      if (!m_outcome.finite() || !m_outcome.recoveredSince(finding.iteration))
        context.findings.push_back(std::move(finding));
  }

 private:
  static constexpr std::int64_t kSamples = 16, kIterations = 3;

  /// Read by nothing but normalisations, logarithms and products: it is scaled in the graph, or weighs the
  /// terms of a likelihood.
  static bool isNormalisedFirst(const core::Graph& graph, TensorId input) {
    const auto users = graph.consumers(input);
    return !users.empty() && std::ranges::all_of(users, [&](core::NodeId user) {
      const core::Node& node = graph.node(user);
      return node.phase != core::Phase::kForward || node.opType.ends_with("Normalization") ||
             node.opType == "Mul" || node.opType == "Div" || node.opType == "Log";
    });
  }

  /// Numbers with fractions, cast to choose rows of a table of weights.
  static bool isCutToIndices(const core::Graph& graph, const core::TensorInfo& info) {
    if (!info.producer.valid()) return false;
    const core::Node& cast = graph.node(info.producer);
    if (cast.opType != "Cast" || isFloating(info.dtype) ||
        !isFloating(graph.tensor(cast.inputs.front()).dtype))
      return false;
    return std::ranges::any_of(graph.consumers(info.id), [&](core::NodeId user) {
      const core::Node& node = graph.node(user);
      return node.opType == "Gather" && node.inputs[1] == info.id && isWeight(graph.tensor(node.inputs[0])) &&
             graph.tensor(node.inputs[0]).shape[0] > 1;
    });
  }

  struct Labels {
    bool constant = true;
    double value = 0;
    std::int64_t samples = 0, iterations = 0;
    Finding finding;  // of the first iteration
  };

  void lookAtLabels(EvaluationContext& context, const Place& place) {
    const StatisticsRow* row = context.rows.now(place.rank, place.tensor);
    if (!row || row->values.count == 0) return;
    ++context.evaluated;
    Labels& seen = m_seen[{place.rank, place.tensor}];
    if (seen.iterations++ == 0) {
      seen.value = row->values.min;
      seen.finding = findingAt(context, place, precedence::kStructure);
      seen.finding.detail =
          m_cut.contains(place.tensor)
              ? "all indices are " + core::formatShort(seen.value) +
                    ", in every iteration: what is cast here is cut to whole numbers, and only one row of "
                    "the table is ever read"
              : "all labels are equal: every one is " + core::formatShort(seen.value) +
                    ", in every iteration";
    }
    seen.samples += row->values.count;
    seen.constant = seen.constant && row->values.min == seen.value && row->values.max == seen.value;
  }

  void lookAtInput(EvaluationContext& context, const Place& place) {
    const StatisticsRow* row = context.rows.now(place.rank, place.tensor);
    if (!row || row->values.nonFinite() > 0) return;
    ++context.evaluated;
    const double limit = parameterOr(context.parameters, "abs_mean_gt", 1e4);
    if (row->values.meanAbs <= limit) return;
    const auto known = std::ranges::find_if(
        m_large, [&](const Finding& f) { return f.tensor == place.tensor && f.rank == place.rank; });
    if (known != m_large.end()) return;
    Finding finding = findingAt(context, place, precedence::kStructure);
    finding.parameter = "abs_mean_gt";
    finding.preset = limit;
    finding.actual = row->values.meanAbs;
    finding.detail = "mean|x| is " + core::formatShort(row->values.meanAbs) +
                     ", too large a scale for weights as they are initialised, and training does not recover";
    m_large.push_back(std::move(finding));
  }

  /// One rank whose data are of another size than those of all others, by a factor of ten.
  void compareRanks(EvaluationContext& context, TensorId input) {
    std::vector<std::pair<double, core::Rank>> sizes;
    for (const core::Rank rank : context.ranks)
      if (const StatisticsRow* row = context.rows.now(rank, input); row && row->values.nonFinite() == 0)
        sizes.emplace_back(row->values.meanAbs, rank);
    std::ranges::sort(sizes);
    if (sizes.size() < 2 || sizes.back().first <= kOtherSize * sizes[sizes.size() - 2].first) return;
    const auto& [size, rank] = sizes.back();
    Outlier& outlier = m_outliers[{rank, input}];
    if (outlier.iterations++ > 0) return;
    outlier.finding = findingAt(context, {context.iteration, rank, input}, precedence::kStructure);
    outlier.finding.actual = size;
    outlier.finding.preset = sizes[sizes.size() - 2].first;
    const bool two = sizes.size() == 2;
    outlier.finding.detail =
        "rank " + std::to_string(rank.value) + " reads data of another scale than " +
        (two ? "rank " + std::to_string(sizes.front().second.value) : "the other ranks") + ": mean|x| is " +
        core::formatShort(size) + " against " + (two ? "" : "at most ") +
        core::formatShort(outlier.finding.preset);
  }

  static constexpr double kOtherSize = 10;
  struct Outlier {
    std::int64_t iterations = 0;
    Finding finding;  // of the first iteration
  };

  std::map<std::pair<core::Rank, TensorId>, Outlier> m_outliers;
  std::int64_t m_iterations = 0;
  Outcome m_outcome;
  std::vector<TensorId> m_labels, m_inputs;
  std::set<TensorId> m_cut;  // of m_labels: indices that were cast
  std::map<std::pair<core::Rank, TensorId>, Labels> m_seen;
  std::vector<Finding> m_large;  // the first of each input and rank
};

}  // namespace

ConditionDef batchContentCondition() {
  ConditionDef def;
  def.id = "batch_content";
  def.title = "Unusual data";
  def.doc =
      "All labels of all recorded iterations are one class (16 labels and 3 iterations at least), or all "
      "indices that a cast makes are one; or mean|x| "
      "of an input or target that is neither normalised nor scaled first is above abs_mean_gt, and the loss "
      "does not "
      "recover; or it is ten times that of any other rank, in every iteration.";
  def.advice =
      "Look at the loader: scale inputs and targets to about 1, shuffle, read the column that holds the "
      "classes.";
  def.parameters = {{"abs_mean_gt", ParameterType::kPos, 1e4, "hit if mean|x| of an input is above"}};
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<BatchContent>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
