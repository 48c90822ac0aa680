// IterationSource: the newest recorded iteration of one rank, and the one before, as watchpoints see a run.
// Statistics only. Training thread only.
#pragma once

#include <array>
#include <memory>

#include "dump/writer/iteration_record.h"
#include "watchpoints/source.h"

namespace msdbg::dump {

class IterationSource : public watch::Source {
 public:
  IterationSource(std::shared_ptr<const GraphPlan> plan, core::Rank rank, int ranks)
      : m_plan(std::move(plan)), m_rank(rank), m_rankCount(ranks) {}

  /// `record` (of this plan) is the newest iteration now; its statistics are copied, its values are not.
  void advance(const IterationRecord& record);

  const core::Graph& graph() const override { return m_plan->graph; }
  std::vector<core::Rank> ranks() const override { return {m_rank}; }
  int rankCount() const override { return m_rankCount; }
  std::vector<core::Iteration> iterations(core::Rank) const override { return {m_newest.iteration}; }
  const watch::StatisticsRow* statistics(core::Rank rank, core::Iteration iteration,
                                         core::TensorId tensor) override;
  core::Result<core::Tensor> value(core::Rank, core::Iteration, core::TensorId) override;
  bool stored(core::Rank, core::Iteration, core::TensorId) const override { return false; }
  std::optional<double> scalar(core::Rank, core::Iteration, const std::string&) override { return {}; }

 private:
  struct Rows {
    core::Iteration iteration;
    std::vector<watch::StatisticsRow> statistics;  // by tensor
    std::vector<bool> seen;
  };
  std::shared_ptr<const GraphPlan> m_plan;
  core::Rank m_rank;
  int m_rankCount;
  Rows m_newest, m_before;
};

}  // namespace msdbg::dump
