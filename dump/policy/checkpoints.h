// What is kept so that a run can be computed again: checkpoints (the state before an iteration) and batches
// (what it was given). Which tensors these hold, and how often a checkpoint is kept. Pure functions.
#pragma once

#include "dump/policy/record_options.h"

namespace msdbg::dump {

/// Parameters, optimizer states and constants: a checkpoint holds all of them (core::isCarried).
bool inCheckpoint(const core::TensorInfo& tensor);
/// Inputs, labels, hyperparameters: a batch holds all of them.
bool inBatch(const core::TensorInfo& tensor);
/// It has no bytes, so none are kept.
bool isEmpty(const core::TensorInfo& tensor);
std::uint64_t checkpointBytes(const core::Graph& graph);  // of one, raw

/// C: a checkpoint is kept in the first recorded iteration and in the first one that is at least C later than
/// the last; 0: none is kept. `auto` is the least C with which checkpoints take no more than one hundredth of
/// the bytes of all tensors of all iterations; they are C, 2 C, 4 C ... apart then, as time allows
/// (dump/writer/checkpoint_schedule.h), and there are none where one is more than a quarter of a rank's share
/// of maxBytes, or where leavesOutInputs().
std::int64_t checkpointInterval(const RecordOptions& options, const core::Graph& graph, int ranks);
/// `auto`, and one checkpoint is more than that quarter.
bool checkpointsTooLarge(const RecordOptions& options, const core::Graph& graph, int ranks);
/// Whether a rule says `none` of an input or label: nothing is kept for replay then, unless it is asked for.
bool leavesOutInputs(const RecordOptions& options, const core::Graph& graph, int ranks);
/// Whether batches are kept: not those that nothing but a checkpoint that is too large would lead to.
bool keepsBatches(const RecordOptions& options, const core::Graph& graph, int ranks);
/// How many that are in `steps` iterations from `first` on; of `auto` the most.
std::int64_t countCheckpoints(const RecordOptions& options, std::int64_t interval, std::int64_t steps,
                              std::int64_t first = 0);

}  // namespace msdbg::dump
