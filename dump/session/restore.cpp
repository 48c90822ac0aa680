#include "dump/session/restore.h"

#include <algorithm>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "core_engine/train/run_context.h"
#include "dump/reader/run_reader.h"

namespace msdbg::dump {
namespace {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;
using core::TrainingState;

Status checkRanks(const RunReader& run, core::RunContext& context) {
  if (run.info().ranks == context.ranks()) return Ok{};
  return Error(ErrorCode::kUsage, "was recorded with " + std::to_string(run.info().ranks) +
                                      (run.info().ranks == 1 ? " rank" : " ranks") + ", but " +
                                      std::to_string(context.ranks()) + " go on; start as many");
}

Result<TrainingState> stateOf(RunReader& run, std::optional<Iteration> wanted, Rank rank) {
  if (!wanted) {
    MSDBG_ASSIGN(const Iteration newest, run.newestCheckpoint([&](const std::string& skipped) {
      core::logWarn(run.folder().string() + ": " + skipped);
    }));
    return run.checkpoint(rank, newest);
  }
  const std::vector<std::int64_t> checkpoints = run.checkpoints();
  if (checkpoints.empty() || std::ranges::binary_search(checkpoints, wanted->value))
    return run.checkpoint(rank, *wanted);
  return Error(ErrorCode::kUnavailable, "has no checkpoint of iteration " + std::to_string(wanted->value) +
                                            "; it has those of " + core::formatRanges(checkpoints));
}

Result<TrainingState> recordedState(const std::filesystem::path& folder, std::optional<Iteration> iteration,
                                    core::RunContext& context) {
  MSDBG_ASSIGN(const std::unique_ptr<RunReader> run, RunReader::open(folder));
  MSDBG_TRY(checkRanks(*run, context));
  return stateOf(*run, iteration, context.rank());
}

[[noreturn]] void fail(const std::filesystem::path& folder, const std::string& what) {
  const std::string name = folder.string();
  throw std::runtime_error("restore: " + (what.starts_with(name) ? what : name + ": " + what));
}

}  // namespace

void restore(core::Trainer& trainer, const std::filesystem::path& run, std::optional<Iteration> iteration) {
  const Result<TrainingState> state = recordedState(run, iteration, trainer.run());
  if (!state.ok()) fail(run, state.error().message());
  try {
    trainer.restore(*state);
  } catch (const std::runtime_error& error) {
    fail(run, error.what());
  }
}

}  // namespace msdbg::dump
