#include "dump/session/restore.h"

#include <algorithm>
#include <iterator>

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

/// Iterations that every rank has a checkpoint of, ascending.
std::vector<std::int64_t> commonCheckpoints(const RunReader& run) {
  std::vector<std::int64_t> common = run.checkpoints(Rank(0));
  for (int rank = 1; rank < run.info().ranks; ++rank) {
    const std::vector<std::int64_t> more = run.checkpoints(Rank(rank));
    std::vector<std::int64_t> both;
    std::ranges::set_intersection(common, more, std::back_inserter(both));
    common = std::move(both);
  }
  return common;
}

Status checkRanks(const RunReader& run, core::RunContext& context) {
  if (run.info().ranks == context.ranks()) return Ok{};
  return Error(ErrorCode::kUsage, "was recorded with " + std::to_string(run.info().ranks) +
                                      (run.info().ranks == 1 ? " rank" : " ranks") + ", but " +
                                      std::to_string(context.ranks()) + " go on; start as many");
}

/// Of all ranks: each must go on from the same one.
Status checkReadable(RunReader& run, std::int64_t iteration) {
  for (int rank = 0; rank < run.info().ranks; ++rank) {
    const auto state = run.checkpoint(Rank(rank), Iteration(iteration));
    if (!state.ok()) return state.error();
  }
  return Ok{};
}

Result<TrainingState> newest(RunReader& run, const std::vector<std::int64_t>& checkpoints, Rank rank) {
  for (std::size_t i = checkpoints.size(); i-- > 0;) {
    const Status readable = checkReadable(run, checkpoints[i]);
    if (readable.ok()) return run.checkpoint(rank, Iteration(checkpoints[i]));
    core::logWarn(run.folder().string() + ": the checkpoint of iteration " + std::to_string(checkpoints[i]) +
                  " cannot be used: " + readable.error().message());
  }
  return Error(ErrorCode::kDamaged, "none of its checkpoints can be read");
}

Result<TrainingState> stateOf(RunReader& run, std::optional<Iteration> wanted, Rank rank) {
  const std::vector<std::int64_t> checkpoints = commonCheckpoints(run);
  if (checkpoints.empty())
    return Error(ErrorCode::kUnavailable,
                 "has no checkpoint that all ranks have; record with --policy record or --checkpoint-every");
  if (!wanted) return newest(run, checkpoints, rank);
  if (!std::ranges::binary_search(checkpoints, wanted->value))
    return Error(ErrorCode::kUnavailable, "has no checkpoint of iteration " + std::to_string(wanted->value) +
                                              "; it has those of " + core::formatRanges(checkpoints));
  return run.checkpoint(rank, *wanted);
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
