// Outliers: the iterations of a rank whose statistics stay when those around them are thinned: where NaN or
// Inf begin, where the loss jumps, and hits. Depends on what was recorded alone. The background thread's.
#pragma once

#include <cstdint>
#include <deque>

#include "core_engine/base/iteration_set.h"
#include "dump/writer/iteration_record.h"

namespace msdbg::dump {

class Outliers {
 public:
  /// Their rows take at most so many bytes; once they do, later ones are as all others.
  explicit Outliers(std::uint64_t mostBytes) : m_left(mostBytes) {}

  /// A recorded iteration; ascending. It stays where some tensor has NaN or Inf and none had in the one
  /// before, and where the loss is more than three times the mean of the ten before.
  void add(const IterationRecord& record);
  /// Of a watchpoint.
  void addHit(std::int64_t iteration) { keep(iteration); }
  bool contains(std::int64_t iteration) const { return m_iterations.contains(iteration); }

 private:
  void keep(std::int64_t iteration);
  bool jumps(double loss);

  std::uint64_t m_left, m_rowBytes = 0;  // of one iteration
  core::IterationSet m_iterations;
  bool m_wasFinite = true;
  std::deque<double> m_losses;  // the last ones
};

/// Bytes of /statistics and /record for one iteration.
std::uint64_t statisticsBytesOf(const GraphPlan& plan);

}  // namespace msdbg::dump
