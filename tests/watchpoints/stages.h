// A recording that nobody made: four ranks of aten-like operators from a Python file. Ranks 0 and 1 are
// stage 0 of a pipeline, 2 and 3 stage 1; r and r + 2 talk to each other; weights have one name everywhere.
// Stage 1 has a half precision side branch whose body runs three times.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/watchpoints/fake_source.h"

namespace msdbg::test {

core::Graph stageGraph(int rank, bool log);

struct Stages {
  FakeSource source;

  /// From iteration `logFrom` on stage 1 has another graph; -1: it does not.
  explicit Stages(int iterations, int logFrom = -1);

  void record(core::Rank rank, core::Iteration iteration, const std::string& name, std::vector<float> values);

 private:
  void recordAll(int rank, int iteration);
  int m_logFrom;

 public:
  bool log(int rank, int iteration) const { return rank > 1 && m_logFrom >= 0 && iteration >= m_logFrom; }
};

}  // namespace msdbg::test
