// Hindsight: values that were not stored, computed again from the nearest checkpoint and held against the
// hash that was recorded of them. Who asks for iterations in order pays for each once: the ranks go on from
// where they are. Used from one thread, the run's.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "replay/computed_values.h"
#include "replay/recompute/walk.h"

namespace msdbg::replay {

struct HindsightOptions {
  core::CancelToken cancel = {};
  /// Iterations computed for the value that was asked for, and how many it takes.
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
  std::uint64_t keepBytes = std::uint64_t{1} << 30;     // of values that nobody has asked for yet
  std::uint64_t keepRowBytes = std::uint64_t{1} << 28;  // of statistics, the same
};

class Hindsight : public ComputedValues {
 public:
  /// kUnsupported: a run of this kind cannot be computed again. Costs nothing until a value is asked for.
  static core::Result<std::unique_ptr<Hindsight>> create(Run& run, HindsightOptions options);
  ~Hindsight() override;

  core::Result<Cost> cost(core::Iteration iteration) override;
  core::Result<Computed> compute(core::Rank rank, core::Iteration iteration, core::TensorId tensor) override;
  /// ValueSource: kUnavailable also where it has another hash than the recorded one.
  core::Result<core::Tensor> value(core::Rank rank, core::Iteration iteration,
                                   core::TensorId tensor) override;
  /// The numbers that would have been recorded, of all tensors of an iteration at once; kept, so that who
  /// comes back for another tensor need not wait again.
  const watch::StatisticsRow* statistics(core::Rank rank, core::Iteration iteration,
                                         core::TensorId tensor) override;
  void forEachProven(core::Iteration iteration, const Proven& f) const override;
  const std::optional<core::Error>& failure() const override { return m_failure; }
  std::vector<Mismatch> differences() const override {
    return m_walk ? m_walk->differences() : std::vector<Mismatch>();
  }
  std::vector<std::string> otherHere() const override;  // Recomputation::otherHere()

 private:
  class Keeper;
  struct Kept {
    core::Iteration iteration;
    std::map<std::pair<core::Rank, core::TensorId>, core::Tensor> values;  // by the run's ids
    std::map<std::pair<core::Rank, core::TensorId>, Evidence> evidence;
    std::optional<Mismatch> since;  // the first that differed on the way there
    std::map<core::Iteration, std::string> passedOver;
    std::uint64_t bytes = 0;
  };
  struct Rows {
    core::Iteration iteration;
    struct OfRank {
      const core::GraphPart* part = nullptr;                  // nullptr: by the run's ids
      std::vector<std::optional<watch::StatisticsRow>> rows;  // by the rank's ids; none: it has another hash
    };
    std::vector<OfRank> ranks;
    std::uint64_t bytes = 0;
  };
  Hindsight(Run& run, HindsightOptions options);

  core::Status start();
  Cost costFrom(core::Iteration from, core::Iteration to) const;
  core::Status reach(core::Iteration iteration, core::Rank rank, core::TensorId tensor);
  void take(core::Iteration iteration);
  void takeRows(core::Iteration iteration);
  const Rows* rowsOf(core::Iteration iteration);
  Kept* kept(core::Iteration iteration);

  Run& m_run;
  HindsightOptions m_options;
  std::unique_ptr<Walk> m_walk;
  std::vector<Keeper*> m_keepers;  // its judges
  std::list<Kept> m_kept;          // newest first
  std::list<Rows> m_rows;          // the same
  bool m_wantsRows = false;
  std::uint64_t m_rowBytes = 0;
  std::optional<core::Error> m_failure;
};

}  // namespace msdbg::replay
