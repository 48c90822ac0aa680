// A Source held in memory: rows are computed from the tensors given to it, or set by hand. Writers of
// different ranks may work at the same time; reading is not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core_engine/graph/graph_union.h"
#include "watchpoints/source.h"

namespace msdbg::test {

class FakeSource : public watch::Source {
 public:
  FakeSource(core::Graph graph, int ranks, int iterations);

  /// Of another graph on a rank from an iteration on. What is recorded before it is that of the graph before.
  const core::GraphPart& setGraph(core::Rank rank, core::Iteration from, const core::Graph& graph);

  /// Adds the row and, where values are kept, the value.
  void record(core::Rank rank, core::Iteration iteration, core::TensorId tensor, const core::Tensor& value,
              const core::Tensor* previous = nullptr);
  /// The row to set by hand, as if it had been recorded.
  watch::StatisticsRow& row(int rank, int iteration, core::TensorId tensor);
  void loseRow(int rank, int iteration, core::TensorId tensor);
  void loseIteration(int rank, int iteration);
  void loseValues();
  /// As a recorder does that keeps within its budget: no row is left, and this loss.
  void thin(int rank, int iteration, double loss);
  core::TensorId id(const std::string& name) const { return graph().findTensor(name).value(); }

  const core::Graph& graph() const override { return m_graphs.graph(); }
  const core::GraphPart* part(core::Rank rank, core::Iteration iteration) const override;
  bool isWhole(core::NodeId node, core::TensorId tensor) const override {
    return m_graphs.isOfFirst(node, tensor);
  }
  std::vector<core::Rank> ranks() const override;
  int rankCount() const override { return m_rankCount; }
  std::vector<core::Iteration> iterations(core::Rank rank) const override;
  const watch::StatisticsRow* statistics(core::Rank rank, core::Iteration iteration,
                                         core::TensorId tensor) override;
  core::Result<core::Tensor> value(core::Rank rank, core::Iteration iteration,
                                   core::TensorId tensor) override;
  bool stored(core::Rank rank, core::Iteration iteration, core::TensorId tensor) const override;
  std::string missingReason() const override { return m_missingReason; }
  std::optional<double> scalar(core::Rank rank, core::Iteration iteration, const std::string& name) override;
  void setScalar(int rank, int iteration, const std::string& name, double value);

  std::vector<RunFailure> failures() const override { return m_failures; }

  void setRankCount(int count) { m_rankCount = count; }  // more than are recorded
  void fail(RunFailure failure) { m_failures.push_back(std::move(failure)); }

 private:
  struct Cell {
    std::optional<watch::StatisticsRow> row;
    std::optional<core::Tensor> value;
  };
  using Cells = std::vector<Cell>;  // by tensor; empty: the iteration is not recorded
  const Cell* find(core::Rank rank, core::Iteration iteration, core::TensorId tensor) const;
  Cell& at(core::Rank rank, core::Iteration iteration, core::TensorId tensor);

  core::GraphUnion m_graphs;
  std::map<core::Rank, std::map<core::Iteration, const core::GraphPart*>> m_parts;  // from which iteration on
  std::vector<std::vector<Cells>> m_ranks;                                          // by rank, iteration
  int m_rankCount;
  std::vector<RunFailure> m_failures;
  std::map<std::pair<core::Rank, core::Iteration>, double> m_thinned;  // and the loss
  std::map<std::tuple<core::Rank, core::Iteration, std::string>, double> m_scalars;
  std::string m_missingReason;
};

}  // namespace msdbg::test
