// What conditions share: walking over the rows of an iteration, comparing against thresholds, saying why
// there is no answer. The caller's EvaluationContext collects everything; used from one thread.
#pragma once

#include <initializer_list>
#include <map>
#include <span>

#include "watchpoints/condition.h"
#include "watchpoints/conditions/chosen.h"
#include "watchpoints/conditions/targets.h"

namespace msdbg::watch {

struct Place {
  core::Iteration iteration;
  core::Rank rank;
  core::TensorId tensor;
};

/// The rows of some tensors, one iteration at a time. Left out is a parameter or state whose last update is
/// itself recorded and selected: what is wrong with it is wrong in that update's output. The recommended set
/// also leaves out what is the same, bit for bit, on the first of the ranks that are looked at.
class RowWalk {
 public:
  RowWalk(const core::Graph& graph, std::vector<core::TensorId> tensors, bool recommended);
  std::span<const core::TensorId> tensors() const { return m_tensors; }
  /// As the recommended set does: no entry where an operator of another framework has no row, which did not
  /// run in that iteration or wrote nothing yet (torch.empty), nor for a source of such, which was not there
  /// yet (a state before the first update).
  void skipWhatDidNotRun() { m_skips = true; }
  /// f() asks for no more than flags: also rows that are no more (core::isFlags).
  void askForFlags() { m_flags = true; }

  /// Calls f(place, row) for every recorded row, rank by rank; a missing one is an entry `no_value` or
  /// `thinned`. Of a long run most iterations are thinned: those are told of all tensors at once.
  template <typename F>
  void forEach(EvaluationContext& context, const F& f) const {
    for (auto rank = context.ranks.begin(); rank != context.ranks.end();) {
      if (const auto next = pastThinned(context, rank); next != rank) {
        rank = next;
        continue;
      }
      for (std::size_t i = 0; i < m_tensors.size(); ++i)
        if (const StatisticsRow* row = rowOf(context, *rank, i))
          f(Place{context.iteration, *rank, m_tensors[i]}, *row);
      ++rank;
    }
  }

 private:
  using RankIterator = std::span<const core::Rank>::iterator;
  const StatisticsRow* rowOf(EvaluationContext& context, core::Rank rank, std::size_t i) const;
  const StatisticsRow* read(EvaluationContext& context, core::Rank rank, std::size_t i) const {
    return m_flags ? context.rows.flagsNow(rank, m_tensors[i]) : context.rows.now(rank, m_tensors[i]);
  }
  /// Past the ranks from this one on that have no row since they were thinned, nor one before, with an entry
  /// for each of the tensors that they have: the same ones on all of them.
  RankIterator pastThinned(EvaluationContext& context, RankIterator rank) const;
  std::span<const core::TensorId> tensorsOf(const core::GraphPart* part) const;

  std::vector<core::TensorId> m_tensors;
  mutable std::map<const core::GraphPart*, std::vector<core::TensorId>> m_ofPart;  // walked by nobody
  std::vector<core::TensorId> m_updates;  // of each; invalid where nothing updates it
  bool m_skips, m_flags = false;
  std::vector<bool> m_once;  // of each: looked at on one rank where the others have the same
};

/// An evaluator that asks the same of every row of some tensors.
using RowQuestion = void (*)(EvaluationContext& context, const Place& place, const StatisticsRow& row);
std::unique_ptr<Evaluator> everyRow(RowWalk walk, RowQuestion question);

/// An evaluator of what the graph alone tells: asked once, in the first iteration that is looked at.
using GraphQuestion = void (*)(EvaluationContext& context);
std::unique_ptr<Evaluator> onceOfGraph(GraphQuestion question);
/// A finding at an operator of the graph, in this iteration, on the first of its ranks.
Finding findingAtNode(const EvaluationContext& context, core::NodeId node, std::string detail);

/// Whether the parameter or state got its value from an update that is itself looked at.
bool madeByAnUpdateSeen(EvaluationContext& context, core::Rank rank, core::TensorId update);

/// A finding with its place filled in; for a parameter or state its detail says where the value came from.
Finding findingAt(const EvaluationContext& context, const Place& place, int precedence);
void notEvaluable(EvaluationContext& context, const Place& place, std::string_view reason,
                  std::string detail = {});
/// The entry for a row of this iteration that is not there.
void missingRow(EvaluationContext& context, const Place& place);
/// False, with an entry `nan` or `inf`, when the tensor holds NaN or Inf.
bool finite(EvaluationContext& context, const Place& place, const core::TensorStatistics& values);

/// What a threshold parameter is compared with. The suffix of its name says how: _gt, _lt, _ge, _le.
struct Measure {
  std::string_view parameter;
  double actual;
};
/// The first measure whose parameter was given and is exceeded.
struct Exceeded {
  std::string_view parameter;
  double preset, actual;
};
std::optional<Exceeded> exceeded(const Parameters& parameters, std::initializer_list<Measure> measures);
/// Counts the place as evaluated and adds a finding if any measure exceeds its parameter.
void evaluateMeasures(EvaluationContext& context, const Parameters& parameters, const Place& place,
                      int precedence, std::initializer_list<Measure> measures);
inline void evaluateMeasures(EvaluationContext& context, const Place& place, int precedence,
                             std::initializer_list<Measure> measures) {
  evaluateMeasures(context, context.parameters, place, precedence, measures);
}

/// 100 * zeros / count.
double zeroPercentage(const core::TensorStatistics& values);

// Which condition explains a place where several fire (less is the cause).
namespace precedence {
inline constexpr int kFailure = 5;  // the node that could not be computed at all
inline constexpr int kKernel = 7;   // it is not what its kernel computes
inline constexpr int kNonfinite = 10;
inline constexpr int kStructure = 15;  // what the graph alone shows
inline constexpr int kNotChanged = 20, kAllZero = 21, kVanishing = 22, kDeadRelu = 23;
inline constexpr int kWholeChange = 25;  // every element changed too much: a wrong step, not a wrong element
inline constexpr int kDivergence = 30, kCollective = 31;
inline constexpr int kSingleChange = 40;
inline constexpr int kOther = 50, kSymptom = 60;
}  // namespace precedence

}  // namespace msdbg::watch
