// A run without files: what is in it is said by the test, also while somebody reads it. The rows are those of
// a FakeSource. Read by one thread, as every run; will() may be called by another.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "replay/run.h"
#include "tests/watchpoints/fake_source.h"

namespace msdbg::test {

class FakeRun : public replay::Run, public replay::Growing {
 public:
  FakeRun(core::Graph graph, int ranks, int iterations);

  // What it says. Set before it is read, or by a change that it takes in.
  FakeSource rows;
  replay::RunDescription told;
  replay::RunEnd ended{.state = "finished"};
  std::map<core::Rank, replay::RunEnd> rankEnds;
  bool goesOn = false;
  std::map<std::string, std::string> sources;
  std::map<std::string, std::map<std::pair<core::Rank, core::Iteration>, double>> scalars;
  std::map<std::string, std::map<core::Iteration, double>> said;  // metrics of rank 0
  std::vector<replay::Damage> lost;
  std::vector<replay::Gap> notRecorded;

  /// refresh() makes the change, on the reader's thread, and says that something is new.
  void will(std::function<void(FakeRun&)> change);

  std::filesystem::path folder() const override { return "fake.msdbg"; }
  const replay::RunDescription& description() const override { return told; }
  replay::RunEnd end() const override { return ended; }
  std::optional<replay::RunEnd> rankEnd(core::Rank rank) const override;
  bool recording() const override { return goesOn; }
  const core::Graph& graph() const override { return rows.graph(); }
  const core::GraphPart* part(core::Rank rank, core::Iteration iteration) const override {
    return rows.part(rank, iteration);
  }
  bool isWhole(core::NodeId node, core::TensorId tensor) const override { return rows.isWhole(node, tensor); }
  std::vector<core::Rank> ranks() const override { return rows.ranks(); }
  const core::IterationSet& iterationSet(core::Rank rank) const override;
  const watch::StatisticsRow* statistics(core::Rank rank, core::Iteration iteration,
                                         core::TensorId tensor) override {
    return rows.statistics(rank, iteration, tensor);
  }
  std::string missingReason() const override { return rows.missingReason(); }
  core::Error missingStatistics(core::Rank rank, core::Iteration iteration, core::TensorId tensor) override;
  core::Result<core::Tensor> value(core::Rank rank, core::Iteration iteration,
                                   core::TensorId tensor) override {
    return rows.value(rank, iteration, tensor);
  }
  bool stored(core::Rank rank, core::Iteration iteration, core::TensorId tensor) const override {
    return rows.stored(rank, iteration, tensor);
  }
  std::optional<replay::ValueOrigin> origin(core::Rank rank, core::Iteration iteration,
                                            core::TensorId tensor) const override;
  std::int64_t storedCount(core::Rank rank, core::TensorId tensor) const override;
  core::Result<core::Hash128> hash(core::Rank rank, core::Iteration iteration,
                                   core::TensorId tensor) override;
  std::optional<double> scalar(core::Rank rank, core::Iteration iteration, const std::string& name) override;
  std::vector<std::string> scalarNames() override;
  std::vector<replay::Metric> metrics(core::Rank rank) const override;
  std::optional<double> lastScalar(core::Rank rank, const std::string& name) override;
  std::vector<std::string> sourceFiles() const override;
  std::optional<std::string> sourceText(const std::string& file) const override;
  replay::Storage storage() const override { return {}; }
  const std::vector<replay::Damage>& damage() const override { return lost; }
  std::vector<replay::Gap> gaps() const override { return notRecorded; }
  std::vector<RunFailure> failures() const override { return rows.failures(); }

  replay::Growing* growing() override { return this; }
  core::Result<replay::RunGrowth> refresh() override;

 private:
  mutable std::map<core::Rank, core::IterationSet> m_iterations;
  std::mutex m_mutex;  // of m_changes
  std::vector<std::function<void(FakeRun&)>> m_changes;
};

}  // namespace msdbg::test
