// RunState: how a recorded run ended and what of it cannot be read, as a value and in words: the same in
// every face. Pure functions, but for stateOf(), which asks the run and belongs to its thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replay/run.h"

namespace msdbg::replay {

struct RunState {
  RunEnd end;              // as run.json says; as the ranks do while run.json does not (yet)
  bool recording = false;  // somebody holds a journal's lock
  std::optional<std::int64_t> lastIteration;  // the newest recorded one of any rank
  std::int64_t silentSeconds = 0;             // while it is recorded: since any rank wrote something
  std::int64_t segments = 0;                  // of all ranks
  int ranks = 1;                              // that there should be
  std::vector<Damage> damage;                 // seen so far
  std::vector<Gap> gaps;                      // what its recorder had to give up
  bool hasStatistics = true;  // of some tensor, in the newest iterations; or they can be computed again

  /// Nobody records any more, and nobody has said how the run ended.
  bool interrupted() const { return !recording && end.state == "running"; }
  /// It came to the end that its user wanted.
  bool endedWell() const { return !recording && end.good(); }
};
RunState stateOf(Run& run);

/// "the run is complete", "the run was killed at iteration 4,120", "the run is being recorded".
std::string endSentence(const RunState& state);

/// A file of the run with everything that is wrong in it.
struct DamagedFile {
  std::string file;                  // "rank_0/segment_000003.h5"
  core::Rank rank;                   // invalid: of the whole run
  core::IterationSet iterations;     // that it costs
  std::vector<std::string> details;  // the words of what found it: "H5Fopen failed (HDF5: …)"
  bool isSegment() const;
  bool isRank() const;  // the folder of a whole rank: "rank_3"
};
/// In the order in which they were found.
std::vector<DamagedFile> damagedFiles(const std::vector<Damage>& damage);
/// The file that costs the rank this iteration, or a part of it; nullopt: none that was seen so far.
std::optional<DamagedFile> damageAt(const std::vector<Damage>& damage, core::Rank rank,
                                    core::Iteration iteration);
/// "rank_0/segment_000003.h5 is damaged: iterations 30-39 of rank 0 are left out"; "… cannot be read in
/// whole" where only parts of the file are damaged.
std::string damageText(const DamagedFile& file);
/// What to do about damage.
std::string damageAdvice();
/// "3 of 60 segments are damaged, run.json is damaged"; "" when nothing is.
std::string damageSentence(const RunState& state);

/// "iterations 127-340 of rank 0 were not recorded (cannot write …: No space left on device)"
std::string gapText(const Gap& gap);
/// "iterations 127-340 of rank 0 were not recorded", "1,204 iterations of 2 ranks were not recorded"; "" when
/// none was given up.
std::string gapSentence(const RunState& state);

}  // namespace msdbg::replay
