// UserSteps: the numbers that a program's user gives its steps (`msdbg.step(n)`, recorded as the scalar
// `step`), both ways. Iterations are counted from 0 in every recording; a training that goes on from a
// checkpoint has steps of its own. A value; the functions that read a run are for its thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "replay/run.h"

namespace msdbg::replay {

class UserSteps {
 public:
  void set(core::Iteration iteration, std::int64_t step);
  bool empty() const { return m_steps.empty(); }
  bool has(core::Iteration iteration) const { return m_steps.contains(iteration); }
  std::optional<std::int64_t> at(core::Iteration iteration) const;
  /// Of several (the program counted from the beginning again) the last. nullopt: none has it.
  std::optional<core::Iteration> find(std::int64_t step) const;
  /// Whose step is the nearest (the lower of two); nullopt: there are none.
  std::optional<core::Iteration> nearest(std::int64_t step) const;
  std::int64_t first() const { return m_iterations.begin()->first; }  // the least; not of an empty one
  std::int64_t last() const { return m_iterations.rbegin()->first; }
  /// "7", or "7 (step 5007)".
  std::string text(core::Iteration iteration) const;

 private:
  std::map<core::Iteration, std::int64_t> m_steps;
  std::map<std::int64_t, core::Iteration> m_iterations;
};

/// Where the program told it. Nothing is read of a run whose program told none.
UserSteps userSteps(Run& run, core::Rank rank);
std::optional<std::int64_t> userStep(watch::Source& run, core::Rank rank, core::Iteration iteration);
/// Whether the program told any.
bool hasUserSteps(Run& run);

/// "7", or "7 (step 5007)".
std::string iterationText(watch::Source& run, core::Rank rank, core::Iteration iteration);

}  // namespace msdbg::replay
