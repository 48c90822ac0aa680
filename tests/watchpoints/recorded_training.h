// Real training runs in memory: a small network is trained on the engine, its ranks as threads, and
// everything that an observer sees goes into a FakeSource. Faults are planted by the engine's own injector.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/watchpoints/fake_source.h"

namespace msdbg::test {

struct TrainingOptions {
  int ranks = 2;
  int iterations = 9;
  double momentum = 0.9;
  std::vector<std::string> faults = {};  // as `--fault` takes them
};

/// x [8, 1, 8, 8] -> Conv 4 -> Relu -> MaxPool -> Gemm 12 -> Relu -> Gemm 3 -> cross-entropy; scopes conv1,
/// fc1, fc2. Throws std::runtime_error when training fails.
std::unique_ptr<FakeSource> recordTraining(const TrainingOptions& options);

}  // namespace msdbg::test
