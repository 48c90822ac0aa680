// A program's own training goes on where a recorded run was: every rank calls it alike, after its Trainer was
// made and before the first step. Recorded with checkpoints (--policy record, --checkpoint-every); the graph,
// the optimizer and the number of ranks must be those of the recording.
//   msdbg::Trainer trainer(run, g, loss, msdbg::Adam{});
//   msdbg::restore(trainer, "run.msdbg");
//   for (const msdbg::Batch& batch : run.shard(*loader, 0, trainer.iteration())) trainer.step(batch);
// With the same batches, seed and threads the next steps give the bits that the run itself would have had.
#pragma once

#include <filesystem>
#include <optional>

#include "core_engine/train/trainer.h"

namespace msdbg::dump {

/// The state before the forward pass of `iteration`, which must be one that a checkpoint was recorded of;
/// not given: the newest one that all ranks have and can read. Throws std::runtime_error (what, where), and
/// changes nothing: no run, no such checkpoint (those that there are are named), another model.
void restore(core::Trainer& trainer, const std::filesystem::path& run,
             std::optional<core::Iteration> iteration = {});

}  // namespace msdbg::dump
