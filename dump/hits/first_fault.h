// FirstFault: the iteration in which this rank first had NaN or Inf, so that the values around it are given
// up last. The -Inf of masks is none. As tensor_overflow of the recommended set sees it, whatever the user
// watches for. The training thread tells it of iterations; keep() may be asked by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dump/hits/iteration_source.h"
#include "dump/writer/retention.h"
#include "watchpoints/online.h"

namespace msdbg::dump {

class FirstFault {
 public:
  FirstFault(core::Rank rank, int ranks) : m_rank(rank), m_ranks(ranks) {}

  /// A recorded iteration has ended; ascending.
  void finished(const IterationRecord& record);
  /// Of the iterations from `first` to `last`. kLast: that one is among them. kLate: the recorded one before
  /// it is, or the next number.
  Keep keep(std::int64_t first, std::int64_t last) const {
    const std::int64_t at = m_at;
    const auto within = [&](std::int64_t iteration) { return first <= iteration && iteration <= last; };
    if (at < 0) return Keep::kYes;
    if (within(at)) return Keep::kLast;
    return within(m_before) || within(at + 1) ? Keep::kLate : Keep::kYes;
  }

 private:
  bool hasFault(const IterationRecord& record);
  const core::Rank m_rank;
  const int m_ranks;
  std::shared_ptr<const GraphPlan> m_plan;
  std::unique_ptr<IterationSource> m_source;
  std::unique_ptr<watch::OnlineCheck> m_check;
  std::atomic<std::int64_t> m_before{-1};  // the recorded iteration before; stays once there is a fault
  std::atomic<std::int64_t> m_at{-1};
};

}  // namespace msdbg::dump
