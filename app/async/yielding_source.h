// YieldingSource: a run seen by a check, which lets the window's quick questions in between: before each
// answer it serves those that wait. Rows are copied, and ranks and iterations are those of its beginning, so
// that a question in between, which may find that the run has grown, changes nothing under a condition. Lives
// on the replay thread, inside one long job.
#pragma once

#include <array>
#include <map>

#include "app/async/replay_thread.h"
#include "watchpoints/known_rows.h"

namespace msdbg::app {

class YieldingSource : public watch::Source, public watch::KnownRows {
 public:
  YieldingSource(replay::Run& run, ReplayThread& thread)
      : m_run(run), m_thread(thread), m_ranks(run.ranks()) {
    for (const core::Rank rank : m_ranks) m_iterations[rank] = run.iterations(rank);
  }

  const core::Graph& graph() const override { return m_run.graph(); }
  const core::GraphPart* part(core::Rank rank, core::Iteration iteration) const override {
    return m_run.part(rank, iteration);
  }
  bool isWhole(core::NodeId node, core::TensorId tensor) const override {
    return m_run.isWhole(node, tensor);
  }
  const std::vector<std::vector<core::Rank>>& replicaGroups() const override { return m_run.replicaGroups(); }
  std::vector<std::string> meshAxes() const override { return m_run.meshAxes(); }
  std::vector<core::Rank> ranks() const override { return m_ranks; }
  int rankCount() const override { return m_run.rankCount(); }
  std::vector<core::Iteration> iterations(core::Rank rank) const override {
    const auto found = m_iterations.find(rank);
    return found == m_iterations.end() ? std::vector<core::Iteration>() : found->second;
  }
  Rows rowsOf(core::Rank rank, core::Iteration iteration) const override {
    return watch::rowsOf(m_run, rank, iteration);
  }
  std::string missingReason() const override { return m_missingReason; }
  std::vector<RunFailure> failures() const override { return m_run.failures(); }
  bool stored(core::Rank rank, core::Iteration iteration, core::TensorId tensor) const override {
    return m_run.stored(rank, iteration, tensor);
  }
  const watch::StatisticsRow* statistics(core::Rank rank, core::Iteration iteration,
                                         core::TensorId tensor) override {
    m_thread.serveQuick();
    const watch::StatisticsRow* row = m_run.statistics(rank, iteration, tensor);
    m_missingReason = m_run.missingReason();
    return copied(row);
  }
  const watch::StatisticsRow* flags(core::Rank rank, core::Iteration iteration,
                                    core::TensorId tensor) override {
    m_thread.serveQuick();
    return copied(m_run.flags(rank, iteration, tensor));
  }
  core::Result<core::Tensor> value(core::Rank rank, core::Iteration iteration,
                                   core::TensorId tensor) override {
    m_thread.serveQuick();
    return m_run.value(rank, iteration, tensor);
  }
  std::optional<double> scalar(core::Rank rank, core::Iteration iteration, const std::string& name) override {
    m_thread.serveQuick();
    return m_run.scalar(rank, iteration, name);
  }

 private:
  const watch::StatisticsRow* copied(const watch::StatisticsRow* row) {
    if (!row) return nullptr;
    m_next = (m_next + 1) % m_recent.size();
    return &(m_recent[m_next] = *row);
  }

  replay::Run& m_run;
  ReplayThread& m_thread;
  std::vector<core::Rank> m_ranks;
  std::map<core::Rank, std::vector<core::Iteration>> m_iterations;
  std::string m_missingReason = "no_value";
  std::array<watch::StatisticsRow, 16> m_recent;
  std::size_t m_next = 0;
};

}  // namespace msdbg::app
