// Comparison: what was found when two runs, two ranks or two iterations were held against each other. Values;
// thread-safe as such. Ids of side A are those of its run, of side B those of the other.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/base/iteration_set.h"
#include "core_engine/tensor/statistics.h"
#include "replay/diff/align.h"
#include "replay/diff/configuration.h"
#include "replay/diff/measures.h"
#include "replay/diff/tolerance.h"

namespace msdbg::replay {

enum class Agreement {
  kEqual,      // in every bit
  kWithin,     // within the tolerance
  kDifferent,  // or of another type
  kUndecided,  // its bits differ, and nothing recorded says by how much
  kUnknown,    // one side recorded nothing of it
  kByNature,   // nothing says that it should be equal: data-parallel ranks have other samples
};
enum class ComparedBy { kNothing, kHashes, kValues, kStatistics };

struct TensorComparison {
  core::Rank rankA, rankB;
  core::Iteration iterationA, iterationB;
  std::int64_t order = -1;  // of the node that makes A's; -1: a source
  core::TensorId a = {}, b = {};
  Agreement verdict = Agreement::kUnknown;
  ComparedBy by = ComparedBy::kNothing;
  bool otherType = false;  // dtypes or shapes differ; of other shapes nothing is measured
  std::optional<Measures> measures = {};
  /// Without values.
  std::optional<std::pair<core::TensorStatistics, core::TensorStatistics>> statistics = {};
  double atLeast = 0;  // of statistics: an element differs by so much
  /// What rounding makes of it: the change that one last bit of its inputs causes (last_bit.h).
  std::optional<double> lastBit = {};
  // Of what its node reads.
  bool inputsDiffer = false, inputsUnknown = false;
  bool inputsByNature = false;  // other samples: what is made of them is not compared
};

struct Counts {
  std::int64_t equal = 0, within = 0, different = 0, undecided = 0, unknown = 0, byNature = 0;

  void add(Agreement verdict);
  Counts& operator+=(const Counts& more);
  std::int64_t compared() const { return equal + within + different + undecided; }
};

/// Of one iteration, or of two that are compared with each other; of all ranks.
struct StepSummary {
  core::Iteration a, b;
  Counts counts = {};
  std::optional<double> lossA = {}, lossB = {};  // of the first pair of ranks
};

/// What both sides are given, and how far it is the same.
struct GivenGroup {
  std::string name;                            // "batches", "hyperparameters", "initial state"
  std::int64_t compared = 0;                   // tensors, over all iterations
  std::optional<TensorComparison> first = {};  // that differs
};

struct GraphDifference {
  core::Iteration iteration;  // whose graphs these are, and of which ranks
  core::Rank rankA, rankB;
  std::int64_t nodesA = 0, nodesB = 0, aligned = 0;
  std::vector<core::NodeId> onlyA, onlyB;
  std::vector<core::TensorId> sourcesOnlyA, sourcesOnlyB;
  std::vector<AlignedNode> renamed;  // aligned under two names
  struct Changed {
    core::NodeId a, b;
    std::string what;  // "attribute ratio: 0.1 -> 0.5"
  };
  std::vector<Changed> changed;

  bool same() const {
    return onlyA.empty() && onlyB.empty() && sourcesOnlyA.empty() && sourcesOnlyB.empty() &&
           renamed.empty() && changed.empty();
  }
  /// Less than half of the smaller graph is in the other one: other programs, of which equal numbers say
  /// nothing.
  bool ofOtherPrograms() const { return 2 * aligned < std::min(nodesA, nodesB); }
};

/// Where the sides part: the least (iteration, order, rank) outside of the tolerance.
struct FirstDifference {
  TensorComparison what;
  std::vector<TensorComparison> reads = {};  // what its node reads, in its order
  /// For each of these what B's node reads in its place, where that is something else. Invalid: the same.
  std::vector<core::TensorId> instead = {};
  std::string kernelA = {}, kernelB = {};  // "dnnl:Gemm"; "" where nobody says
  /// Of a source that is carried from iteration to iteration: whether it was equal after the update before.
  std::optional<bool> equalAfterUpdate = {};
};

enum class ComparisonMode { kRuns, kRanks, kIterations, kComputed };

struct Comparison {
  ComparisonMode mode = ComparisonMode::kRuns;
  Tolerance tolerance;
  std::vector<ConfigurationDifference> configuration;  // of runs
  std::vector<SourceDifference> sources;               // the same
  std::vector<GivenGroup> given;
  GraphDifference graph;

  core::IterationSet compared;      // of A; to the first that differs whole, from there on some
  core::IterationSet onlyA, onlyB;  // of those asked for
  Counts counts;                    // of the tensors of all compared iterations
  std::optional<FirstDifference> first;
  /// Of the first iteration that differs, or of all (ComparisonOptions::all), in order; of two iterations, of
  /// these. At most kMostDifferent.
  std::vector<TensorComparison> different;
  std::vector<StepSummary> course;  // from the first difference on
  std::vector<std::string> notes;   // what could not be read, and what one side recorded otherwise
  bool allJudged = true;            // false: only what should be equal between replicas is a difference

  bool differs() const { return counts.different > 0; }
};

inline constexpr std::size_t kMostDifferent = 10000;

}  // namespace msdbg::replay
