// A recording that nobody made: four ranks of aten-like operators from a Python file. Ranks 0 and 1 are
// stage 0 of a pipeline, 2 and 3 stage 1; r and r + 2 talk to each other; weights have one name everywhere.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/watchpoints/fake_source.h"

namespace msdbg::test {

struct Stages {
  FakeSource source;

  /// From iteration `logFrom` on stage 1 has another graph; -1: it does not.
  explicit Stages(int iterations, int logFrom = -1);

  void record(core::Rank rank, core::Iteration iteration, const std::string& name, std::vector<float> values);

 private:
  void recordAll(int rank, int iteration);
};

}  // namespace msdbg::test
