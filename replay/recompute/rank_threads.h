// RankThreads: a thread for each rank that stays the same as long as this lives: an executor is used from one
// thread, and a team of OpenMP belongs to the thread that made it. Used from one other thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace msdbg::replay {

class RankThreads {
 public:
  using Work = std::function<void(int rank)>;  // throws nothing

  explicit RankThreads(int ranks);
  ~RankThreads();
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;

  /// Every rank does it, at once with the others.
  void start(Work work);
  void wait();  // until all have done it
  void run(Work work) {
    start(std::move(work));
    wait();
  }

 private:
  void live(int rank);

  std::mutex m_mutex;
  std::condition_variable m_changed;
  Work m_work;
  std::int64_t m_round = 0;  // of work that was started
  int m_busy = 0;
  bool m_over = false;
  std::vector<std::thread> m_threads;
};

}  // namespace msdbg::replay
