// OnlineCheck: watchpoints evaluated while training goes on, one iteration at a time, on the statistics of
// one rank. The same evaluators compute its hits and those of check() on the finished run; only what the end
// of the run decides (a step that was too large, but did no harm) is told here at once. Not thread-safe.
#pragma once

#include <memory>
#include <set>

#include "watchpoints/check.h"

namespace msdbg::watch {

/// Why the watchpoint cannot be evaluated online; "" if it can.
std::string whyNotOnline(const Watchpoint& watchpoint);
/// The conditions that can, at least with some parameters, as `a, b, c`.
std::string onlineConditions();

struct OnlineHit : Hit {
  std::size_t watchpoint = 0;  // index in OnlineCheck's list
};

class OnlineCheck {
 public:
  /// Watchpoints for which whyNotOnline() is "".
  explicit OnlineCheck(std::vector<Watchpoint> watchpoints);
  ~OnlineCheck();

  /// The hits that begin in this iteration: those of a watchpoint on a tensor where it did not fire in the
  /// evaluation before, least (order, precedence) first. Faults, and hints of conditions that were asked for
  /// by name. Call it for every recorded iteration, ascending. Of the source: iterations() of its only rank
  /// is just this one; statistics() also answers for the iteration before, if that is recorded.
  std::vector<OnlineHit> evaluate(Source& source);

  const std::vector<Watchpoint>& watchpoints() const { return m_watchpoints; }

 private:
  using Place = std::pair<std::size_t, core::TensorId>;  // watchpoint, tensor
  struct State;

  std::vector<Watchpoint> m_watchpoints;
  std::unique_ptr<State> m_state;  // made in the first evaluation
  std::set<Place> m_firing;        // in the last evaluation
};

}  // namespace msdbg::watch
