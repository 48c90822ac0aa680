// IterationWalk: the selected iterations of a run, ascending, each with the ranks that recorded it.
#pragma once

#include <functional>
#include <vector>

#include "watchpoints/source.h"

namespace msdbg::watch {

class IterationWalk {
 public:
  IterationWalk(const Source& source, std::vector<core::Rank> ranks,
                const std::function<bool(core::Iteration)>& selected);

  bool done() const { return m_next == m_iterations.size(); }
  /// Goes on to the next iteration.
  void advance();
  core::Iteration iteration() const { return m_iteration; }
  const std::vector<core::Rank>& ranks() const { return m_here; }  // those that recorded it
  const std::vector<core::Rank>& selectedRanks() const { return m_ranks; }
  double share() const;  // of the walk that is done, 0 to 1

 private:
  struct Cursor {
    std::vector<core::Iteration> iterations;  // of one rank, ascending
    std::size_t next = 0;
  };
  std::vector<core::Rank> m_ranks, m_here;
  std::vector<Cursor> m_cursors;  // of m_ranks
  std::vector<core::Iteration> m_iterations;
  std::size_t m_next = 0;
  core::Iteration m_iteration;
};

}  // namespace msdbg::watch
