// A training program, recorded to a folder by the recorder itself (statistics and batches, no values) and
// opened as a run. Throws std::runtime_error where it cannot.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/passes/optimizer.h"
#include "core_engine/train/trainer.h"
#include "dump/policy/record_options.h"
#include "replay/run.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

namespace msdbg::test {

struct RecordedProgram {
  std::function<core::Value(core::Graph&)> loss;
  std::function<std::vector<std::pair<std::string, core::Tensor>>(int iteration)> batch;  // by input name
  int iterations = 4;
  core::Optimizer optimizer = core::Sgd{.lr = 0.01};
  std::vector<std::string> faults = {};  // as `--fault` takes them
  bool values = false;                   // every tensor is stored
  dump::RecordOptions options = {};      // statistics where it says no policy
  /// Between iterations, before this one.
  std::function<void(core::Trainer&, int iteration)> before = {};
};

class RecordedRun {
 public:
  explicit RecordedRun(const RecordedProgram& program);
  replay::Run& run() { return *m_run; }
  std::filesystem::path folder() const { return m_folder.path() / "run.msdbg"; }

 private:
  TempDir m_folder;
  std::unique_ptr<replay::Run> m_run;
};

}  // namespace msdbg::test
