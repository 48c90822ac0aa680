// What the commands that show values do where a value is not stored: they let the engine compute it again,
// say beforehand what that costs where it takes more than a second, and show progress. Main thread only.
#pragma once

#include <memory>
#include <string>

#include "app/cli/json_output.h"
#include "app/cli/progress.h"
#include "app/cli/run_access.h"
#include "replay/computed_values.h"

namespace msdbg::app {

class Computing {
 public:
  /// Nothing is computed yet. The run outlives it.
  Computing(const OpenedRun& run, const Context& context);

  /// Errors as ComputedValues::compute(), kUnsupported where the run cannot be computed again.
  core::Result<replay::ComputedValues::Computed> value(core::Rank rank, core::Iteration iteration,
                                                       core::TensorId tensor);
  /// From now on the run gives computed values where it has none, as long as this lives. Same errors.
  core::Status helpOut();
  /// Where computed values come from, for who asks for them by himself; it lives as long as this. Same
  /// errors.
  core::Result<replay::ValueSource*> source();
  std::optional<replay::Mismatch> firstDifference() const;  // of all that was computed so far
  std::vector<std::string> otherHere() const;               // ComputedValues::otherHere()
  void warnOfEnvironment() const;                           // that it is another one here, where it is
  void clearProgress();
  /// warnOfEnvironment(), and where what was computed is not what was recorded, so that nothing of it could
  /// be used: a warning for each stretch. Gives kExitHits then where the status is fine.
  int withDifferences(int status) const;
  /// "; nor computed again: …" where the last that was asked for could not be computed; "".
  std::string whyNone() const;
  ~Computing();

  /// "computed again from iteration 5 (3 iterations); it has the recorded hash", and which nearer checkpoints
  /// are damaged
  static std::string text(const OpenedRun& run, const replay::ComputedValues::Computed& computed);
  /// "fc/weight:0 of iteration 7, rank 0"; "some tensor of ..." where only a digest tells.
  static std::string text(const OpenedRun& run, const replay::Mismatch& at);
  /// Its place; null for none. `tensor` is null where only a digest tells.
  static Json json(const OpenedRun& run, const std::optional<replay::Mismatch>& at);

 private:
  core::Status start();
  /// What an earlier command computed, and what this one did for those that follow
  /// (replay/tensor/value_cache.h).
  std::optional<replay::ComputedValues::Computed> fromCache(core::Rank rank, core::Iteration iteration,
                                                            core::TensorId tensor);
  void toCache(core::Iteration iteration, const replay::ComputedValues::Computed& asked);

  const OpenedRun& m_run;
  const Context& m_context;
  std::unique_ptr<Progress> m_progress;
  std::unique_ptr<replay::ComputedValues> m_values;
  bool m_helps = false;
};

}  // namespace msdbg::app
