// Ranks as threads of one process. Every collective is two meetings: all have come with their data; all have
// read it.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "core_engine/distributed/communicators.h"
#include "core_engine/distributed/rank_sum_internal.h"

namespace msdbg::core {
namespace {

struct Group {
  explicit Group(int size) : data(static_cast<std::size_t>(size)), present(data.size()) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const std::byte*> data;  // what each rank brought to the meeting
  std::vector<bool> present;           // who has come to the meeting in progress
  std::int64_t meetings = 0;           // held so far
  std::string lost;                    // why no meeting can be held any more

  bool full() const { return std::ranges::find(present, false) == present.end(); }
};

std::string absentRanks(const std::vector<bool>& present) {
  std::string text;
  for (std::size_t i = 0; i < present.size(); ++i)
    if (!present[i]) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return text;
}

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Group> group, std::size_t rank)
      : m_group(std::move(group)), m_rank(rank) {}
  ~ThreadCommunicator() override { lose("rank " + std::to_string(m_rank) + " has left"); }

  Rank rank() const override { return Rank{static_cast<std::int64_t>(m_rank)}; }
  int size() const override { return static_cast<int>(m_group->data.size()); }

  Status allreduceSum(const Tensor& input, Tensor& output) override {
    MSDBG_TRY(checkReducible(input, output));
    MSDBG_TRY(meet(input.byteSpan().data()));
    sumInRankOrder(input.dtype(), m_group->data, output.byteSpan().data(),
                   static_cast<std::size_t>(input.elements()));
    return meet(nullptr);
  }

  Status broadcast(std::span<std::byte> bytes, Rank root) override {
    MSDBG_TRY(meet(bytes.data()));
    if (root.index() != m_rank) std::memcpy(bytes.data(), m_group->data[root.index()], bytes.size());
    return meet(nullptr);
  }

  Status barrier() override { return meet(nullptr); }
  void abort(int exitStatus) override {
    lose("rank " + std::to_string(m_rank) + " ended with status " + std::to_string(exitStatus));
  }
  void setWatchdog(Watchdog watchdog) override { m_watchdog = std::move(watchdog); }

 private:
  void lose(const std::string& why) {
    const std::lock_guard lock(m_group->mutex);
    if (m_group->lost.empty()) m_group->lost = why;
    m_group->changed.notify_all();
  }

  Status meet(const std::byte* data) {
    std::unique_lock lock(m_group->mutex);
    if (!m_group->lost.empty()) return Error(ErrorCode::kUnavailable, m_group->lost);
    const std::int64_t meeting = m_group->meetings;
    if (data) m_group->data[m_rank] = data;
    m_group->present[m_rank] = true;
    if (m_group->full()) {
      m_group->present.assign(m_group->present.size(), false);
      ++m_group->meetings;
      m_group->changed.notify_all();
      return Ok{};
    }
    return await(lock, meeting);
  }

  Status await(std::unique_lock<std::mutex>& lock, std::int64_t meeting) {
    using namespace std::chrono;
    const auto start = steady_clock::now();
    const auto over = [&] { return m_group->meetings != meeting || !m_group->lost.empty(); };
    while (!m_group->changed.wait_for(lock, seconds(1), over)) {
      const std::string why =
          m_watchdog ? m_watchdog(duration<double>(steady_clock::now() - start).count()) : "";
      if (!why.empty())
        return Error(ErrorCode::kUnavailable,
                     why + "; ranks that did not come: " + absentRanks(m_group->present));
    }
    if (m_group->meetings != meeting) return Ok{};  // held before somebody left
    return Error(ErrorCode::kUnavailable, m_group->lost);
  }

  std::shared_ptr<Group> m_group;
  std::size_t m_rank;
  Watchdog m_watchdog;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> makeThreadCommunicators(int size) {
  const auto group = std::make_shared<Group>(size);
  std::vector<std::unique_ptr<Communicator>> all;
  for (std::size_t i = 0; i < group->data.size(); ++i)
    all.push_back(std::make_unique<ThreadCommunicator>(group, i));
  return all;
}

}  // namespace msdbg::core
