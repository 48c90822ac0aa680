// Session: what a user's training program creates first. A RunContext that finds its rank (MPI when started
// under mpirun), its seed and threads, and, when MSDBG_DUMP names a run folder, attaches the recorder.
//
// Environment: MSDBG_DUMP (run folder; created, with run.json, if `msdbg dump` has not; on hosts that do not
// share it, one on each host: `msdbg merge` joins them), MSDBG_DUMP_CONFIG (a
// file that says what is recorded: resources/recording.example.json), MSDBG_DUMP_OPTIONS (the same as JSON
// text; its keys win), MSDBG_SEED, MSDBG_THREADS, MSDBG_STEPS, MSDBG_BACKEND ("cuda"), MSDBG_FAULTS (specs
// joined by ';'), MSDBG_PASSES, MSDBG_RECOMPUTE (core_engine/plan/pass_selection.h), MSDBG_RUN_INFO=launcher
// when the launcher finalises run.json, of the run MSDBG_RUN_ID. argv: --steps N,
// --seed S, --threads N, --backend NAME (they win; other arguments are the program's own, one that is a
// letter away from these is warned of). Throws std::runtime_error when the recorder cannot start, and when
// the program has a Session already. An exception that nobody catches (a mistake in the model, a batch that
// does not fit, a file that is missing, any of the program's own) is said in one line and ends the program
// with status 1 (2: a mistake in what is named above); with MSDBG_ABORT=1 it aborts, for a debugger. SIGTERM,
// SIGINT: the iteration in progress is finished or, after the grace time, recorded as incomplete; then the
// process ends with 128 + signal. Uncaught exceptions are recorded with their text. One Session per process.
#pragma once

#include <memory>
#include <string>

#include "core_engine/train/run_context.h"

namespace msdbg::dump {

class Session : public core::RunContext {
 public:
  Session(int argc, char** argv);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  core::Communicator& communicator() override;
  core::Observer* observer() override;
  std::uint64_t seed() const override;
  int threads() const override;
  core::BackendKind backend() const override;
  const std::vector<core::FaultSpec>& faults() const override;
  std::int64_t steps(std::int64_t fallback) const override;
  core::PlanChoices planChoices() const override;
  void stepFinished(core::Iteration iteration) override;
  void stepFailed(core::Iteration iteration, const std::string& what) override;
  bool stopRequested() override;

  bool recording() const;
  /// Records why the program ends (uncaught exceptions are recorded without this).
  void fail(const std::string& message);

 private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

}  // namespace msdbg::dump
