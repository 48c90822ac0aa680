// Values that a run does not hold, computed again: what they are and what they cost, whoever computes them
// (Hindsight of replay/recompute, where there is the engine). Used from one thread, the run's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "replay/proof.h"
#include "replay/run.h"

namespace msdbg::replay {

class ComputedValues : public ValueSource {
 public:
  struct Cost {
    core::Iteration checkpoint;   // where it begins; or the iteration that the ranks have come to
    std::int64_t iterations = 0;  // to compute; 0: it has the values
    double seconds = 0;           // as training took for them, all ranks on this machine; 0: not known
  };
  /// kUnavailable, in words: it cannot be computed.
  virtual core::Result<Cost> cost(core::Iteration iteration) = 0;

  enum class Evidence {
    kHash,     // it has the recorded hash
    kNone,     // no hash was recorded of it
    kOther,    // it has another hash: it is not what training had
    kFollows,  // no hash was recorded of it, but it was made of what has another one
  };
  /// As far as is known.
  static bool isTrainings(Evidence evidence) {
    return evidence == Evidence::kHash || evidence == Evidence::kNone;
  }
  struct Computed {
    core::Tensor value;
    Evidence evidence = Evidence::kNone;
    Cost cost;  // as it was: from an older checkpoint than cost() said where newer ones are damaged
    std::map<core::Iteration, std::string> passedOver;  // these, and why they cannot be read
    std::optional<Mismatch> since;  // kOther, kFollows: the first that differs, here or on the way
    bool kept = false;              // by an earlier command: nothing was computed for it now
  };
  /// kUnavailable, kDamaged, kCancelled; kNotFound: the rank does not compute it in this iteration.
  virtual core::Result<Computed> compute(core::Rank rank, core::Iteration iteration,
                                         core::TensorId tensor) = 0;

  /// What was computed besides, of this iteration, and has the hash that was recorded of it.
  using Proven = std::function<void(core::Rank rank, core::TensorId tensor, const core::Tensor& value)>;
  virtual void forEachProven(core::Iteration iteration, const Proven& f) const = 0;

  /// Why the last statistics() gave nullptr, where that was an error.
  virtual const std::optional<core::Error>& failure() const = 0;
  /// Where what was computed is not what was recorded: the first of each stretch, as they were met.
  virtual std::vector<Mismatch> differences() const = 0;
  /// What decides bits otherwise here than where it was recorded, in words.
  virtual std::vector<std::string> otherHere() const = 0;
};

}  // namespace msdbg::replay
