// What mergeRuns() is going to do: which folder has which ranks, and every file that is part of the run.
// Internal to dump/merge. Values.
#pragma once

#include "dump/merge/merge_runs.h"
#include "dump/run_info.h"

namespace msdbg::dump {

struct MergeFile {
  std::filesystem::path from = {}, name = {};  // name: within the run
  std::uint64_t bytes = 0;
  std::string hash = {};  // "": not known
  core::Rank rank = {};   // invalid: of the run as a whole
  core::IterationSet iterations = {};
};

struct MergePart {
  std::filesystem::path folder;
  RunInfo info;
  std::vector<std::int64_t> ranks;  // ascending
  std::vector<MergeFile> files;
  std::vector<std::filesystem::path> doubles;  // graphs and sources that a part before it has too
  std::vector<Damage> damage;
};

struct MergePlan {
  std::vector<MergePart> parts;  // by lowest rank; the first one has the graph
  std::vector<std::int64_t> missing;
  RunInfo info;  // of the run that comes of it
  std::uint64_t bytes = 0;
};

/// Looks at journals and names only.
core::Result<MergePlan> planMerge(const std::vector<std::filesystem::path>& folders);

}  // namespace msdbg::dump
