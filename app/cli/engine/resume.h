// --resume RUN: training of a built-in model goes on after the last complete iteration of a recorded run,
// with the same model, data, batches, ranks, threads and seed. Main thread only.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "app/cli/dump_plan.h"
#include "app/cli/engine/model_training.h"
#include "core_engine/train/run_context.h"
#include "dump/reader/run_reader.h"

namespace msdbg::app {

/// A run to go on from, and what it was trained with.
class Resumed {
 public:
  /// kUnavailable: no checkpoint that all its ranks have; kUsage: a run of a program of one's own. Else as
  /// RunReader::open(). A damaged checkpoint is warned of, and an older one is taken.
  static core::Result<Resumed> open(const std::string& run);

  const ResumePoint& point() const { return m_point; }
  /// Fills in what is not given. kUsage: something given is not what the run was trained with.
  core::Status complete(DumpOptions& options) const;
  /// Of the compiled model. kUsage: it is not the one that the run was recorded of.
  core::Status checkModel(const core::Graph& graph) const;

 private:
  explicit Resumed(std::unique_ptr<dump::RunReader> reader) : m_reader(std::move(reader)) {}
  core::Status findPoint();
  /// The one after the last that is complete on every rank and can be computed from the checkpoint.
  core::Iteration following(core::Iteration checkpoint) const;
  core::Error usage(const std::string& what) const;
  template <typename Given, typename Recorded>
  core::Status agree(std::string_view flag, Given& given, const Recorded& recorded) const;
  core::Status agreeOnSize(ModelSettings& given, const ModelSettings& recorded) const;
  core::Result<ModelSettings> recordedSettings() const;

  std::unique_ptr<dump::RunReader> m_reader;
  ResumePoint m_point;
};

/// In a rank: the state before point.iteration: the checkpoint, and from there on computed again with the
/// batches that were recorded, unrecorded now. Warns where the loss is another than the recorded one.
/// Before the recorder has anything to do: the recorder's thread and this one must not use HDF5 at a time.
core::Result<core::TrainingState> stateAt(const ResumePoint& point, core::RunContext& run,
                                          const ModelTraining& training);

}  // namespace msdbg::app
