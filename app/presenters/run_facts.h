// RunFacts: what the whole window may know about a run without asking for it: read once on the replay thread,
// then shared and never changed, so any thread may read it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "replay/run.h"

namespace msdbg::app {

struct RunFacts {
  std::filesystem::path path;  // absolute
  dump::RunInfo info;
  bool recording = false;  // was still being recorded when it was opened
  std::shared_ptr<const core::Graph> graph;
  std::vector<core::Rank> ranks;                                  // ascending; may be empty
  std::map<core::Rank, std::vector<core::Iteration>> iterations;  // ascending
  std::vector<core::Iteration> allIterations;                     // of any rank, ascending
  std::vector<std::string> scalars;                               // "loss", "learning_rate", …
  std::map<std::string, std::string> sources;                     // the run's own copies, by Frame::file
  std::vector<dump::Damage> damage;                               // seen when opening

  bool recorded(core::Rank rank, core::Iteration iteration) const;
};

/// Replay thread.
std::shared_ptr<const RunFacts> readFacts(replay::Run& run);

}  // namespace msdbg::app
