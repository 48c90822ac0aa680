// What the data look like where they enter the graph: labels that are all one class, inputs far from the size
// that networks are initialised for.
#include <algorithm>
#include <cmath>
#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/column_scale.h"
#include "watchpoints/conditions/drowned_part.h"
#include "watchpoints/conditions/entry_scale.h"
#include "watchpoints/conditions/faint_input.h"
#include "watchpoints/conditions/label_content.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/rescaled.h"
#include "watchpoints/conditions/unread_input.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::TensorId;
using core::TensorRole;

class BatchContent : public Evaluator {
 public:
  explicit BatchContent(const core::Graph& graph)
      : m_outcome(graph),
        m_classes(classesOfLoss(graph)),
        m_labels(graph),
        m_faint(graph),
        m_entries(graph),
        m_columns(graph),
        m_drowned(graph),
        m_rescaled(graph) {
    for (const core::TensorInfo& info : graph.tensors()) {
      const bool data = isData(graph, info.id);
      if (data && info.shape.rank() > 0) m_batch.push_back(info.id);
      if (data && isFloating(info.dtype) && !isNormalisedFirst(graph, info.id)) m_inputs.push_back(info.id);
    }
  }

  void evaluate(EvaluationContext& context) override {
    if (m_iterations == 0) m_begin = context.iteration;
    m_outcome.add(context);
    m_labels.evaluate(context);
    m_faint.add(context);
    m_entries.add(context);
    m_columns.add(context);
    m_drowned.add(context);
    m_rescaled.add(context);
    for (const core::Rank rank : context.ranks)
      for (const TensorId input : m_inputs) lookAtInput(context, {context.iteration, rank, input});
    if (context.ranks.size() > 1)
      for (const TensorId input : m_inputs) compareRanks(context, input);
    for (const core::Rank rank : context.ranks) lookForNothing(context, rank);
    ++m_iterations;
  }

  void finish(EvaluationContext& context) override {
    if (m_iterations > 0) addUnreadInputs(context, m_begin);
    for (const auto& [rank, nothing] : m_nothing)
      if (nothing.iterations < m_iterations && nothing.iterations >= kIterations)
        context.findings.push_back(nothingOf(rank, nothing));
    for (auto& [place, outlier] : m_outliers)
      if (outlier.iterations >= kIterations && outlier.iterations == m_iterations)
        context.findings.push_back(std::move(outlier.finding));
    m_labels.finish(context);
    m_entries.finish(context);
    m_columns.finish(context);
    m_drowned.finish(context);
    m_faint.finish(context, m_outcome);
    m_rescaled.finish(context, m_outcome);
    for (Finding& finding : m_large) {
      const bool isHuge = !finding.parameter.empty();
      if (!isHuge && m_outcome.beginsNonFinite()) continue;
      finding.excused = !didHarm(finding);
      if (!finding.excused || isHuge || beganFarOff()) context.findings.push_back(std::move(finding));
    }
    for (const auto& [place, growth] : m_growth) addGrowth(context, growth);
  }

 private:
  static constexpr std::int64_t kIterations = 3;
  static constexpr double kUnscaled = 20;  // mean|x| of pixels, years, prices: no weights are made for it

  /// The first loss is far above what guessing a class costs.
  bool beganFarOff() const {
    return m_classes > 1 && !m_outcome.losses().empty() &&
           m_outcome.losses().front().value > kFarOff * std::log(static_cast<double>(m_classes));
  }
  static constexpr double kFarOff = 5;

  /// Pixels of 0 to 255 are learnt from, too, if badly: a fault where nothing was learnt, or beside another.
  bool didHarm(const Finding& large) const {
    if (!m_outcome.finite()) return true;
    if (m_outcome.recoveredSince(large.iteration)) return false;
    return !large.parameter.empty() || !fallsClearly(m_outcome.losses(), 2);
  }

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

  /// A batch of which every number is zero, inputs and labels alike.
  struct Nothing {
    std::int64_t iterations = 0;
    Finding finding;  // of the first iteration
  };
  std::vector<TensorId> m_batch;
  std::map<core::Rank, Nothing> m_nothing;

  void lookForNothing(EvaluationContext& context, core::Rank rank) {
    std::int64_t zeros = 0, floats = 0;
    for (const TensorId input : m_batch) {
      const StatisticsRow* row = context.rows.now(rank, input);
      if (!row || row->values.count == 0) continue;
      if (row->values.zero != row->values.count) return;
      zeros += row->values.count, floats += isFloating(context.graph().tensor(input).dtype);
    }
    if (zeros < kNumbers || floats == 0) return;
    Nothing& nothing = m_nothing[rank];
    if (nothing.iterations++ > 0) return;
    nothing.finding = findingAt(context, {context.iteration, rank, m_batch.front()}, precedence::kStructure);
  }
  static constexpr std::int64_t kNumbers = 32;

  /// A hint: what fills up a rank's share of the data, or was never written.
  Finding nothingOf(core::Rank rank, const Nothing& nothing) const {
    Finding finding = nothing.finding;
    finding.severity = Severity::kHint;
    finding.detail = "all numbers that the batch brings to rank " + std::to_string(rank.value) +
                     " are zero, inputs and labels alike, in " + std::to_string(nothing.iterations) + " of " +
                     std::to_string(m_iterations) +
                     " iterations: memory that nobody filled, or a share of the data that is too short";
    finding.advice = "Look at how many samples the loader has on this rank, and what it gives after them.";
    return finding;
  }

  /// -9999 and its like, of data that lie near zero otherwise.
  void lookForMissing(EvaluationContext& context, const Place& place, const core::TensorStatistics& values) {
    constexpr double kApart = 20;
    constexpr std::int64_t kTimes = 3;
    const bool nines =
        values.min == -999 || values.min == -9999 || values.min == -99999 || values.min == -999999;
    if (!nines || values.max > -values.min / kApart) return;
    Missing& missing = m_missing[{place.rank, place.tensor}];
    if (missing.iterations++ == 0) missing.finding = findingAt(context, place, precedence::kStructure);
    if (missing.iterations != kTimes) return;
    missing.finding.actual = values.min;
    missing.finding.detail =
        core::formatShort(values.min) +
        " occurs again and again, far from all other numbers: it stands for values that are "
        "missing, and is learnt from as a number";
    missing.finding.advice = "Replace what is missing by the mean of its column, and tell it by a mask.";
    context.findings.push_back(missing.finding);
  }

  struct Missing {
    std::int64_t iterations = 0;
    Finding finding;  // of the first iteration
  };
  std::map<std::pair<core::Rank, TensorId>, Missing> m_missing;

  void lookAtInput(EvaluationContext& context, const Place& place) {
    const StatisticsRow* row = context.rows.now(place.rank, place.tensor);
    if (!row || row->values.nonFinite() > 0) return;
    ++context.evaluated;
    m_growth[{place.rank, place.tensor}].add(place, row->values.meanAbs);
    lookForMissing(context, place, row->values);
    const double limit = parameterOr(context.parameters, "abs_mean_gt", 1e4);
    if (row->values.meanAbs <= std::min(limit, kUnscaled)) return;
    const auto known = std::ranges::find_if(
        m_large, [&](const Finding& f) { return f.tensor == place.tensor && f.rank == place.rank; });
    if (known != m_large.end()) return;
    Finding finding = findingAt(context, place, precedence::kStructure);
    const bool isHuge = row->values.meanAbs > limit;
    if (isHuge) finding.parameter = "abs_mean_gt";
    finding.preset = isHuge ? limit : kUnscaled;
    finding.actual = row->values.meanAbs;
    finding.detail = "mean|x| is " + core::formatShort(row->values.meanAbs) + ", from " +
                     core::formatShort(row->values.min) + " to " + core::formatShort(row->values.max) +
                     ": the data are not normalised, too large a scale for weights as they are initialised";
    finding.advice =
        "Scale them to about 1 where they are loaded: divide by the range, or take the mean away and "
        "divide by the deviation.";
    m_large.push_back(std::move(finding));
  }

  /// How large an input is from iteration to iteration.
  struct Growth {
    Place begin;
    double first = 0, last = 0, most = 0;
    std::int64_t iterations = 0, records = 0;  // records: larger than ever before

    void add(const Place& place, double size) {
      if (iterations++ == 0) begin = place, first = size;
      if (size > most) most = size, ++records;
      last = size;
    }
  };

  /// A sum that nobody resets.
  void addGrowth(EvaluationContext& context, const Growth& growth) {
    constexpr std::int64_t kLeast = 20;
    constexpr double kTimes = 5, kSteady = 0.6;
    if (growth.iterations < kLeast || growth.first <= 0 || growth.last < kTimes * growth.first) return;
    if (static_cast<double>(growth.records) < kSteady * static_cast<double>(growth.iterations)) return;
    if (m_outcome.finite() && m_outcome.recoveredSince(growth.begin.iteration)) return;
    Finding finding = findingAt(context, growth.begin, precedence::kStructure);
    finding.actual = growth.last;
    finding.preset = kTimes * growth.first;
    finding.detail = "mean|x| grows from " + core::formatShort(growth.first) + " in the first iteration to " +
                     core::formatShort(growth.last) + " in the last, larger than ever before in " +
                     std::to_string(growth.records) + " of " + std::to_string(growth.iterations) +
                     ": is something added up and never reset?";
    finding.advice =
        "Look for what is carried from one batch to the next: a sum, a buffer, a scale that grows.";
    context.findings.push_back(std::move(finding));
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
    outlier.finding.advice =
        "Compare how that rank loads its data: another unit, or a normalisation that it misses.";
  }

  static constexpr double kOtherSize = 10;
  struct Outlier {
    std::int64_t iterations = 0;
    Finding finding;  // of the first iteration
  };

  std::map<std::pair<core::Rank, TensorId>, Outlier> m_outliers;
  std::int64_t m_iterations = 0;
  core::Iteration m_begin;
  Outcome m_outcome;
  std::int64_t m_classes = 0;  // of a loss that is a cross-entropy
  LabelContent m_labels;
  FaintInput m_faint;
  EntryScale m_entries;
  ColumnScale m_columns;
  DrownedPart m_drowned;
  RescaledData m_rescaled;
  std::vector<TensorId> m_inputs;
  std::vector<Finding> m_large;  // the first of each input and rank
  std::map<std::pair<core::Rank, TensorId>, Growth> m_growth;
};

}  // namespace

ConditionDef batchContentCondition() {
  ConditionDef def;
  def.id = "batch_content";
  def.title = "Unusual data";
  def.doc =
      "Labels, or the targets of the only binary cross-entropy: all of the run are one class (16 labels and "
      "3 "
      "iterations at least), or all of a batch in 70 % "
      "of the iterations while the class changes; or all indices that a cast makes are one. Inputs and "
      "targets that are neither normalised nor scaled first: mean|x| is above abs_mean_gt and the loss does "
      "not recover (above 20: and it did not fall at all, or became NaN or Inf), is ten times that of any "
      "other rank in every iteration, or grows to five times what it was and the loss does not recover; or "
      "-999, -9999 … occurs again and again far from all else; or mean|x| is multiplied by the same factor "
      "again "
      "and again, three iterations or more apart, and the loss does not recover. What the first layer reads "
      "never reaches 0.01, or all of it lies within 2 % of its size, "
      "and the loss does not recover. A hint: one column of a table that a matrix product reads is a hundred "
      "times as large as the column in the middle, and above 20; or of two scaled parts of a sum that "
      "nothing is learnt "
      "for one is never a thousandth of the other; or nothing reads an input, or what is "
      "computed of it; or "
      "whole batches, labels included, are zero on a rank, in three iterations or more and not in all.";
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
