#include "replay/recompute/rank_threads.h"

namespace msdbg::replay {

RankThreads::RankThreads(int ranks) {
  for (int rank = 0; rank < ranks; ++rank) m_threads.emplace_back([this, rank] { live(rank); });
}

RankThreads::~RankThreads() {
  wait();
  {
    const std::lock_guard lock(m_mutex);
    m_over = true;
  }
  m_changed.notify_all();
  for (std::thread& thread : m_threads) thread.join();
}

void RankThreads::start(Work work) {
  wait();
  {
    const std::lock_guard lock(m_mutex);
    m_work = std::move(work);
    m_busy = static_cast<int>(m_threads.size());
    ++m_round;
  }
  m_changed.notify_all();
}

void RankThreads::wait() {
  std::unique_lock lock(m_mutex);
  m_changed.wait(lock, [&] { return m_busy == 0; });
}

void RankThreads::live(int rank) {
  std::int64_t done = 0;
  for (;;) {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return m_over || m_round != done; });
    if (m_over) return;
    done = m_round;
    lock.unlock();
    m_work(rank);
    lock.lock();
    if (--m_busy == 0) m_changed.notify_all();
  }
}

}  // namespace msdbg::replay
