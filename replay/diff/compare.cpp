#include "replay/diff/compare.h"

#include <algorithm>
#include <tuple>

#include "core_engine/graph/roles.h"
#include "replay/diff/first_difference.h"
#include "replay/diff/given.h"
#include "watchpoints/conditions/targets.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;
using core::TensorId;
using core::TensorInfo;

namespace {

// What is known of one pair of ranks in a step, by A's ids.
using Agreements = std::vector<std::optional<Agreement>>;

class Comparer {
 public:
  Comparer(Run& a, Run& b, RankPairs ranks, Judging judging, const ComparisonOptions& options)
      : m_a(a),
        m_b(b),
        m_ranks(std::move(ranks)),
        m_judging(judging),
        m_options(options),
        m_reader(a, b, options.tolerance, options.cancel),
        m_pairs(a, b, judging, options.tensors) {
    m_found.tolerance = options.tolerance;
    m_found.allJudged = judging == Judging::kAll;
  }

  Result<Comparison> run(ComparisonMode mode, const std::vector<Step>& steps) {
    m_found.mode = mode;
    if (steps.empty() || m_ranks.empty()) return std::move(m_found);
    describeGraphs(steps.front());
    if (mode != ComparisonMode::kIterations) {
      MSDBG_ASSIGN(m_found.given,
                   compareGiven(m_a, m_b, m_pairs, m_reader, m_ranks, steps, m_options.cancel));
    }
    std::size_t stride = 0;  // 0: nothing differs yet
    for (std::size_t i = 0; i < steps.size();) {
      if (m_options.cancel.cancelled()) return Error(ErrorCode::kCancelled, "interrupted");
      if (m_options.progress)
        m_options.progress(static_cast<std::int64_t>(i), static_cast<std::int64_t>(steps.size()));
      MSDBG_TRY(compareStep(steps[i]));
      const bool sparse = m_found.differs() && !m_options.all;
      if (!sparse || i + 1 == steps.size()) {
        ++i;
        continue;
      }
      stride = std::max<std::size_t>(1, 2 * stride);
      i = std::min(i + stride, steps.size() - 1);
    }
    m_found.notes = m_reader.notes();
    return std::move(m_found);
  }

 private:
  void describeGraphs(const Step& step) {
    const auto [rankA, rankB] = m_ranks.front();
    m_found.graph = graphDifference(m_pairs.of(rankA, step.a, rankB, step.b), m_judging != Judging::kReduced);
    m_found.graph.iteration = step.a;
    m_found.graph.rankA = rankA;
    m_found.graph.rankB = rankB;
  }

  Status compareStep(const Step& step) {
    StepSummary summary{.a = step.a, .b = step.b};
    std::vector<TensorComparison> different;
    std::vector<Agreements> before = std::exchange(m_verdicts, std::vector<Agreements>(m_ranks.size()));
    m_inputsScaled = 0;
    for (std::size_t r = 0; r < m_ranks.size(); ++r) {
      const auto [rankA, rankB] = m_ranks[r];
      if (!hasStep(m_a, rankA, step.a) || !hasStep(m_b, rankB, step.b)) continue;
      MSDBG_TRY(comparePair(step, r, summary.counts, different));
    }
    const bool firstToDiffer = !m_found.first && summary.counts.different > 0;
    std::ranges::stable_sort(different, {},
                             [](const TensorComparison& c) { return std::tuple(c.order, c.rankA); });
    if (firstToDiffer || m_options.all) keep(different);
    if (firstToDiffer && m_found.mode != ComparisonMode::kIterations) describeFirst(different, before);
    m_found.counts += summary.counts;
    m_found.compared.add({step.a.value, step.a.value});
    m_previous = step;
    if (m_found.differs()) {
      addLoss(summary);
      m_found.course.push_back(summary);
    }
    return Ok{};
  }

  Status comparePair(const Step& step, std::size_t r, Counts& counts,
                     std::vector<TensorComparison>& different) {
    const auto [rankA, rankB] = m_ranks[r];
    const AlignedPair& pair = m_pairs.of(rankA, step.a, rankB, step.b);
    m_verdicts[r].resize(m_a.graph().tensors().size());
    // Measured at once where something differs, unless something already did before.
    const bool measure = m_options.all || !m_found.first;
    for (std::size_t i = 0; i < pair.alignment.tensors.size(); ++i) {
      if (m_options.cancel.cancelled()) return Error(ErrorCode::kCancelled, "interrupted");
      if (!pair.wanted[i]) continue;
      const AlignedTensor& tensor = pair.alignment.tensors[i];
      Agreement& verdict = m_verdicts[r][tensor.a.index()].emplace(Agreement::kByNature);
      if (pair.judged[i]) {
        TensorComparison one =
            m_reader.compare({rankA, rankB, step.a, step.b}, tensor, measure, autoOf(pair, tensor, r));
        verdict = one.verdict;
        noteScale(pair, one);
        if (verdict == Agreement::kDifferent || verdict == Agreement::kUndecided || m_options.all) {
          addInputs(one, pair, r);
          if (verdict != Agreement::kEqual && verdict != Agreement::kUnknown)
            different.push_back(std::move(one));
        }
      }
      counts.add(verdict);
    }
    return Ok{};
  }

  PairReader::Auto autoOf(const AlignedPair& pair, const AlignedTensor& tensor, std::size_t) const {
    PairReader::Auto how{.side = &pair.a, .alignment = &pair.alignment, .inputsScaled = m_inputsScaled};
    const TensorInfo& info = m_a.graph().tensor(tensor.a);
    how.judgedBefore = tensor.order < 0 && !m_found.compared.empty() && core::isCarried(info) &&
                       updates()[tensor.a.index()].valid();
    return how;
  }

  // What is carried has grown apart by so much: all that is made of it may be.
  void noteScale(const AlignedPair&, const TensorComparison& one) {
    if (one.verdict == Agreement::kWithin && one.order < 0 && one.measures)
      m_inputsScaled = std::max(m_inputsScaled, one.measures->scaled());
  }

  const std::vector<TensorId>& updates() const {
    if (!m_updates) m_updates = watch::updatesByParameter(m_a.graph());
    return *m_updates;
  }

  // A collective reads what the other ranks give it too.
  void addInputs(TensorComparison& one, const AlignedPair& pair, std::size_t r) const {
    const core::NodeId producer = m_a.graph().tensor(one.a).producer;
    if (!producer.valid()) return;
    const core::Node& node = m_a.graph().node(producer);
    const bool together = node.phase == core::Phase::kCollective;
    for (const TensorId input : pair.a.inputs(node))
      for (std::size_t other = 0; other < m_verdicts.size(); ++other) {
        if (other != r && (!together || m_verdicts[other].empty())) continue;
        const std::optional<Agreement> verdict = m_verdicts[other][input.index()];
        const bool differs = verdict && (*verdict == Agreement::kDifferent ||
                                         *verdict == Agreement::kUndecided || *verdict == Agreement::kWithin);
        one.inputsByNature = one.inputsByNature || verdict == Agreement::kByNature;
        one.inputsDiffer = one.inputsDiffer || differs;
        one.inputsUnknown = one.inputsUnknown || !verdict || *verdict == Agreement::kUnknown;
      }
  }

  void keep(const std::vector<TensorComparison>& different) {
    for (const TensorComparison& each : different)
      if (m_found.different.size() < kMostDifferent) m_found.different.push_back(each);
  }

  void describeFirst(const std::vector<TensorComparison>& different, const std::vector<Agreements>& before) {
    const TensorComparison& what =
        *std::ranges::find(different, Agreement::kDifferent, &TensorComparison::verdict);
    const AlignedPair& pair = m_pairs.of(what.rankA, what.iterationA, what.rankB, what.iterationB);
    m_found.first = firstDifference(m_a, m_b, pair, m_reader, what);
    if (what.order < 0) m_found.first->equalAfterUpdate = afterUpdate(what, before);
  }

  std::optional<bool> afterUpdate(const TensorComparison& what, const std::vector<Agreements>& before) const {
    const TensorId update = updates()[what.a.index()];
    if (!update.valid() || !m_previous || m_previous->a.value + 1 != what.iterationA.value)
      return std::nullopt;
    for (std::size_t r = 0; r < before.size(); ++r) {
      if (m_ranks[r].first != what.rankA || before[r].empty()) continue;
      if (const auto verdict = before[r][update.index()]; verdict && *verdict != Agreement::kUnknown)
        return *verdict == Agreement::kEqual;
    }
    return std::nullopt;
  }

  void addLoss(StepSummary& summary) {
    const auto [rankA, rankB] = m_ranks.front();
    summary.lossA = m_a.scalar(rankA, summary.a, "loss");
    summary.lossB = m_b.scalar(rankB, summary.b, "loss");
  }

  Run& m_a;
  Run& m_b;
  RankPairs m_ranks;
  Judging m_judging;
  const ComparisonOptions& m_options;
  PairReader m_reader;
  AlignedPairs m_pairs;
  Comparison m_found;
  std::optional<Step> m_previous;
  std::vector<Agreements> m_verdicts;  // by pair of ranks, of this step
  double m_inputsScaled = 0;
  mutable std::optional<std::vector<TensorId>> m_updates;
};

core::IterationSet ofAny(const Run& run, const std::vector<Rank>& ranks, const core::IndexList& wanted) {
  core::IterationSet found;
  for (const Rank rank : ranks)
    for (const std::int64_t each : run.iterationSet(rank))
      if (wanted.contains(each)) found.push_back(each);
  return found;
}

std::vector<Step> commonSteps(const core::IterationSet& a, const core::IterationSet& b, Comparison& lists) {
  std::vector<Step> steps;
  for (const std::int64_t each : a) {
    if (b.contains(each))
      steps.push_back({Iteration(each), Iteration(each)});
    else
      lists.onlyA.push_back(each);
  }
  for (const std::int64_t each : b)
    if (!a.contains(each)) lists.onlyB.push_back(each);
  return steps;
}

Result<Comparison> withLists(Result<Comparison> found, Comparison lists) {
  if (!found.ok()) return found;
  found->onlyA = std::move(lists.onlyA);
  found->onlyB = std::move(lists.onlyB);
  return found;
}

}  // namespace

Result<Comparison> compareRuns(Run& a, Run& b, const core::IndexList& wanted, const std::vector<Rank>& ranks,
                               const ComparisonOptions& options) {
  const bool alike = a.rankCount() == b.rankCount();
  RankPairs pairs;
  const std::vector<Rank> theirs = b.ranks();
  for (const Rank rank : ranks)
    if (std::ranges::find(theirs, rank) != theirs.end()) pairs.emplace_back(rank, rank);
  if (!alike && !pairs.empty()) pairs.resize(1);
  std::vector<Rank> inBoth;
  for (const auto& [rank, same] : pairs) inBoth.push_back(rank);
  Comparison lists;
  const auto steps = commonSteps(ofAny(a, inBoth, wanted), ofAny(b, inBoth, wanted), lists);
  auto found = withLists(Comparer(a, b, pairs, alike ? Judging::kAll : Judging::kReduced, options)
                             .run(ComparisonMode::kRuns, steps),
                         std::move(lists));
  if (!found.ok()) return found;
  found->configuration = compareConfigurations(a.description(), b.description());
  found->sources = compareSources(a, b);
  return found;
}

Result<Comparison> compareRanks(Run& run, Rank a, Rank b, const core::IndexList& wanted,
                                const ComparisonOptions& options) {
  Comparison lists;
  const auto steps = commonSteps(ofAny(run, {a}, wanted), ofAny(run, {b}, wanted), lists);
  return withLists(
      Comparer(run, run, {{a, b}}, Judging::kReplicas, options).run(ComparisonMode::kRanks, steps),
      std::move(lists));
}

Result<Comparison> compareIterations(Run& run, Iteration a, Iteration b, const std::vector<Rank>& ranks,
                                     const ComparisonOptions& options) {
  RankPairs pairs;
  for (const Rank rank : ranks)
    if (run.iterationSet(rank).contains(a.value) && run.iterationSet(rank).contains(b.value))
      pairs.emplace_back(rank, rank);
  return Comparer(run, run, pairs, Judging::kAll, options)
      .run(ComparisonMode::kIterations, pairs.empty() ? std::vector<Step>() : std::vector<Step>{{a, b}});
}

}  // namespace msdbg::replay
