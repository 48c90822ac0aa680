// RankPass: one rank's nodes, in order, each in float64 from recorded inputs and from float64 ones. It stops
// at a collective until all ranks have come to it. Used from one thread, the run's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core_engine/graph/graph_union.h"
#include "core_engine/ops/op.h"
#include "replay/precision/precision.h"
#include "replay/precision/recorded_values.h"

namespace msdbg::replay {

/// What ranks give to a collective, by its name.
class Meeting {
 public:
  /// A rank has a collective of that name.
  void expect(const std::string& node) { ++m_expected[node]; }
  struct Part {
    core::Tensor recorded, throughout;  // float64; invalid: not known
  };
  void give(const std::string& node, core::Rank rank, Part part) {
    m_parts[node].emplace(rank, std::move(part));
  }
  bool isComplete(const std::string& node) const;  // all that have it have given
  std::size_t parts(const std::string& node) const { return m_parts.at(node).size(); }
  /// Rank 0's + rank 1's + …, in that order; `absolute`: of |terms|. Invalid where one is not known, or all
  /// are not of one shape.
  core::Tensor sum(const std::string& node, core::Tensor Part::*which, bool absolute) const;

 private:
  std::map<std::string, std::size_t> m_expected;
  std::map<std::string, std::map<core::Rank, Part>> m_parts;
};

class RankPass {
 public:
  /// `recorded`: the rank's own graph; `part`: its ids of the run, nullptr: the same. Not `judged`: only what
  /// other ranks need of it. kUnsupported: it cannot be had in float64.
  static core::Result<RankPass> create(const core::Graph& recorded, const core::GraphPart* part,
                                       RecordedValues& values, const core::RunState& state, bool judged);

  bool isDone() const { return m_next == m_graph.nodes().size(); }
  std::int64_t nodes() const { return static_cast<std::int64_t>(m_graph.nodes().size()); }
  /// One node, unless it is a collective that waits for other ranks: false. kCancelled.
  core::Result<bool> advance(Meeting& meeting);
  /// Once before the first advance().
  void announce(Meeting& meeting) const;
  void collect(Precision& precision) const;

 private:
  struct Slot {
    bool asked = false;       // for the recorded value
    core::Tensor recorded;    // as it was; invalid: not known
    std::string missing;      // why
    core::Tensor throughout;  // from float64 inputs on; invalid: not known
    double relative = 0;      // its accumulated error
  };
  struct Outputs {
    std::vector<core::Tensor> exact, terms, throughout;  // by slot; empty: not known
    std::string why;                                     // of exact
  };
  RankPass(core::Graph graph, std::vector<core::DType> dtypes, const core::GraphPart* part,
           RecordedValues& values, const core::RunState& state, bool judged);

  core::Status load(core::TensorId tensor);
  core::Status loadAll(const core::Node& node);
  std::string whyUnknown(const core::Node& node) const;
  std::vector<core::Tensor> recordedInputs(const core::Node& node) const;
  std::vector<core::Tensor> throughoutInputs(const core::Node& node) const;
  bool meet(const core::Node& node, Meeting& meeting);
  Outputs compute(const core::Node& node, const Meeting& meeting);
  Outputs computeAlone(const core::Node& node) const;
  Outputs computeTogether(const core::Node& node, const Meeting& meeting) const;
  void take(const core::Node& node, Outputs outputs);
  void judge(const core::Node& node, std::size_t slot, const Outputs& outputs);
  std::optional<double> amplification(const core::Node& node, double relative) const;
  bool absorbs(const core::Node& node, std::size_t slot, const core::Tensor& exact) const;
  void release(const core::Node& node);
  core::TensorId runId(core::TensorId local) const { return m_part ? m_part->tensorAt(local.value) : local; }

  core::Graph m_graph;                // floating tensors are float64
  std::vector<core::DType> m_dtypes;  // as recorded, by tensor
  const core::GraphPart* m_part;
  RecordedValues* m_values;
  core::RunState m_state;
  bool m_judged;
  std::vector<core::NodeId> m_last;  // readers, by tensor
  std::vector<Slot> m_slots;         // by tensor
  std::size_t m_next = 0;
  bool m_waits = false;  // m_next is a collective, and its part was given
  std::vector<PrecisionRow> m_rows;
  std::vector<std::pair<std::string, core::TensorId>> m_unjudged;  // why
};

}  // namespace msdbg::replay
