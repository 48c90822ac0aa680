// Proof: whether iterations, computed again from what a run recorded of them, give the bytes that it
// recorded. Who finds that out is replay/recompute; what it found is told by commands and panels. Values;
// thread-safe as such.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core_engine/base/ids.h"
#include "core_engine/base/iteration_set.h"
#include "core_engine/tensor/statistics.h"
#include "replay/inspect.h"

namespace msdbg::replay {

/// A tensor whose bytes, computed again, are not those that were recorded.
struct Mismatch {
  core::Iteration iteration;
  core::Rank rank;
  std::int64_t order = -1;                   // of the node that makes it, on its rank; -1: a source
  core::TensorId tensor;                     // of the run
  std::string kernel;                        // that computed it here: "dnnl:Conv"; "" of a source
  core::Hash128 recorded, computed;          // recorded: 0 where other evidence tells, see hasHash()
  std::optional<BitDifference> values = {};  // where the recorded value is stored
  /// Whether all that its node read was as recorded (what was not recorded counts as that): it went wrong
  /// there.
  bool origin = false;

  /// Else no hash of it was recorded, and `values`, the counts of NaN and Inf, or the loss tell that it
  /// differs.
  bool hasHash() const { return recorded != core::Hash128(); }
};

enum class Again {
  kNotAsked,
  kSame,   // a second computation gave the bytes of the first
  kOther,  // it gave others again
};

struct Proof {
  core::IterationSet computed;    // and compared: those that were asked for, and those on the way to them
  std::int64_t tensors = 0;       // whose hashes were compared, over all iterations and ranks
  std::uint64_t bytes = 0;        // of these
  std::int64_t values = 0;        // stored values that were compared byte by byte
  std::int64_t states = 0;        // values of checkpoints that were: of those that it came to on its way
  std::int64_t digests = 0;       // iterations of a rank of which only the digest was left
  std::int64_t wrongDigests = 0;  // of these: some tensor of it differs, nobody knows which

  /// Least (iteration, order, rank) first. Of an iteration in which something differs only what made it
  /// differ and the first of each rank, kMostMismatches in all.
  std::vector<Mismatch> mismatches;
  core::IterationSet different;  // iterations in which something differs; what follows has other values
  Again again = Again::kNotAsked;

  struct Unproved {
    core::IterationSet iterations;
    std::string why;
  };
  std::vector<Unproved> unproved;  // of those that were asked for
  /// Iterations that were computed, of which a stored value cannot be read, or is not what was hashed: the
  /// file is damaged, and nothing follows for the training.
  std::vector<Unproved> damaged;
  /// What decides bits and is otherwise here than where it was recorded: "oneDNN 2.6.3 avx2 instead of …".
  std::vector<std::string> otherHere;

  bool equal() const { return different.empty(); }
  bool nothingCompared() const { return tensors == 0 && digests == 0 && states == 0 && mismatches.empty(); }
};

inline constexpr std::size_t kMostMismatches = 100;

/// What follows from it, in a sentence: "recorded once, computed twice the same and otherwise: …".
std::string verdictText(const Proof& proof);

}  // namespace msdbg::replay
