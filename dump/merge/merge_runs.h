// Joins the folders that the hosts of one run have written into one run folder. The sources are only read,
// unless they are moved. One call at a time; not thread-safe.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core_engine/base/cancel.h"
#include "dump/reader/run_reader.h"

namespace msdbg::dump {

enum class MergeMode {
  kCopy,
  kLink,  // hard links: no bytes are written; only within one file system
  kMove,  // links where possible, copies else; the sources are removed when the new run is complete
};

struct MergeOptions {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path run;  // must not be there, or be an empty folder
  MergeMode mode = MergeMode::kCopy;
  core::CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;  // bytes; may be empty
};

struct MergeReport {
  struct Part {
    std::filesystem::path folder;
    std::string host;
    std::vector<std::int64_t> ranks;
  };
  std::vector<Part> parts;                       // in the order of their lowest ranks
  std::vector<std::int64_t> missing;             // ranks that no folder has
  std::uint64_t bytes = 0;                       // of the run
  std::vector<Damage> damage;                    // in the sources: taken over as it is
  std::vector<std::filesystem::path> remaining;  // kMove: folders that hold something else, so they stay
};

/// The run is built under another name and appears whole, with every hash checked, or not at all. kUsage: the
/// folders are not of one run (what differs), two have the same rank, one is still being recorded, or `run`
/// is there; kDamaged, kMissing: one is no run; kIo; kCancelled.
core::Result<MergeReport> mergeRuns(const MergeOptions& options);

}  // namespace msdbg::dump
