// What the parts of a comparison share: pairs of ranks with their aligned graphs. Of the runs' thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "replay/diff/compare.h"
#include "watchpoints/meaning/replicas.h"

namespace msdbg::replay {

using RankPairs = std::vector<std::pair<core::Rank, core::Rank>>;
/// Iterations that are compared with each other.
struct Step {
  core::Iteration a, b;
};
inline bool hasStep(const Run& run, core::Rank rank, core::Iteration iteration) {
  return run.iterationSet(rank).contains(iteration.value);
}

/// One rank of A and one of B in an iteration.
struct AlignedPair {
  GraphSide a, b;
  Alignment alignment;
  std::vector<bool> judged;  // by alignment.tensors: whether a difference is one
  std::vector<bool> wanted;  // the same: whether it was asked for
};

/// Which tensors should be equal.
enum class Judging {
  kAll,
  kReplicas,  // of the two ranks of one run
  kReduced,   // runs with other numbers of ranks: of what all ranks agree on
};

/// Aligns graphs once for every two that meet.
class AlignedPairs {
 public:
  AlignedPairs(Run& a, Run& b, Judging judging, const std::vector<core::TensorId>& tensors)
      : m_a(a),
        m_b(b),
        m_judging(judging),
        m_agreedA(a, judging),
        m_agreedB(b, judging),
        m_tensors(tensors) {}
  const AlignedPair& of(core::Rank rankA, core::Iteration iterationA, core::Rank rankB,
                        core::Iteration iterationB);
  Judging judging() const { return m_judging; }

 private:
  /// What says of a run which of its tensors all ranks, or groups of them, agree on.
  struct Agreed {
    Agreed(Run& run, Judging judging);
    bool has(core::TensorId tensor) const;
    bool areTogether(core::Rank a, core::Rank b) const;

    const core::Graph& graph;
    watch::Replicas ofTorch;  // found in what is recorded; its graph says nothing
  };
  bool judged(const AlignedPair& pair, const AlignedTensor& tensor, core::Rank rankA, core::Rank rankB) const;

  Run& m_a;
  Run& m_b;
  Judging m_judging;
  Agreed m_agreedA, m_agreedB;
  const std::vector<core::TensorId>& m_tensors;  // that are asked for; none: all are
  struct Key {
    const core::GraphPart *a, *b;
    core::Rank rankA, rankB;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::unique_ptr<AlignedPair>> m_pairs;  // found by, never walked
};

/// What of the two graphs is not in both, or not the same. `types`: also shapes, of outputs and in
/// attributes.
GraphDifference graphDifference(const AlignedPair& pair, bool types);

}  // namespace msdbg::replay
