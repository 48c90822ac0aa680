// RunFacts: what the whole window may know about a run without asking for it: read on the replay thread, then
// shared and never changed, so any thread may read it. A run that is being recorded gets new facts as it
// grows: Document::facts().
#pragma once

#include <QString>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "replay/run.h"
#include "replay/user_steps.h"

namespace msdbg::app {

struct RunFacts {
  std::filesystem::path path;  // absolute
  replay::RunDescription description;
  replay::RunEnd end;      // as run.json says; as the ranks do while run.json does not yet
  bool recording = false;  // somebody holds a journal's lock
  std::shared_ptr<const core::Graph> graph;
  std::vector<core::Rank> ranks;                                  // ascending; may be empty
  std::map<core::Rank, std::vector<core::Iteration>> iterations;  // ascending
  std::vector<core::Iteration> allIterations;                     // of any rank, ascending
  std::vector<std::string> scalars;                               // "loss", "learning_rate", …
  std::map<std::string, std::map<core::Rank, std::vector<std::pair<core::Iteration, double>>>>
      metrics;                                 // those of them that are said now and then, whole
  replay::UserSteps steps;                     // of the first rank, where the program told them
  std::map<std::string, std::string> sources;  // the run's own copies, by Frame::file
  std::vector<replay::Damage> damage;          // seen so far

  /// "7", or "7 (step 5007)".
  QString iterationText(core::Iteration iteration) const {
    return QString::fromStdString(steps.text(iteration));
  }
  bool recorded(core::Rank rank, core::Iteration iteration) const;
  /// Nobody has said how the run ended.
  bool endless() const { return end.state == "running"; }
};

/// Replay thread.
std::shared_ptr<const RunFacts> readFacts(replay::Run& run);

/// What a look at a run that may be growing brought.
struct Growth {
  std::shared_ptr<const RunFacts> facts;  // nullptr: nothing is new
  bool newerGraph = false;                // it takes another RunFacts::graph: open the run again
};
/// Replay thread. kMissing: the run is gone, or another one is there.
core::Result<Growth> lookAgain(replay::Run& run, const RunFacts& before);

}  // namespace msdbg::app
