// What a short recording tells of a longer one of the same training: `msdbg dump --dry-run --like RUN`. Main
// thread only.
#pragma once

#include <optional>
#include <string>

#include "dump/policy/expected_disk.h"

namespace msdbg::app {

struct LikeRun {
  std::string path;
  std::string from;   // "PyTorch 2.15.0+cpu (level train), Python 3.11.7"; "" our own engine
  std::string level;  // of PyTorch's recorder; "" there is none
  std::string backend;
  int ranks = 1;
  std::int64_t iterations = 0;  // that were recorded of the rank
  core::Rank rank;              // the one with most tensors, of which the others are taken to be like
  dump::MeasuredTraining measured;
};

/// Opens and reads it. As openRun(); kUnavailable: it has no complete iteration. `level`: the one that is
/// asked for, "" any; kUsage: it was recorded at another.
core::Result<LikeRun> readLikeRun(const std::string& path, const std::string& level);

/// What to do for a program whose tensors nobody can know before it runs, as one line; for so many ranks and
/// steps, or examples of them.
std::string adviceToMeasure(const std::vector<std::string>& program, std::optional<int> ranks,
                            std::optional<std::int64_t> steps);

}  // namespace msdbg::app
