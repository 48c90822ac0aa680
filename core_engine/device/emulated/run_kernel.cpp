#include "core_engine/device/emulated/run_kernel.h"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <numeric>
#include <random>
#include <vector>

#include "core_engine/device/emulated/thread.h"

namespace msdbg::core::device::emulated {

thread_local Position position;

namespace {

namespace context = boost::context;

constexpr int kLanes = 16;
constexpr std::size_t kStackBytes = 64 * 1024;

/// The threads of one block, as fibers.
class Team {
 public:
  enum class State { kReady, kAtShuffle, kAtBarrier, kReturned };

  Team(const EmulatedKernel& kernel, const void* parameters, std::vector<std::uint32_t> order)
      : m_kernel(kernel), m_parameters(parameters), m_order(std::move(order)), m_threads(m_order.size()) {}

  std::string run(Position block) {
    m_block = block;
    for (Thread& thread : m_threads) begin(thread);
    bool moved = true;
    while (moved) {
      moved = false;
      for (const std::uint32_t i : m_order)
        if (m_threads[i].state == State::kReady) moved = true, resume(i);
      moved = release() || moved;
    }
    return complaint();
  }

  void stop(State state) {
    Thread& thread = m_threads[static_cast<std::size_t>(position.thread)];
    thread.state = state;
    *thread.outside = std::move(*thread.outside).resume();
  }
  std::uint64_t exchange(std::uint64_t bits, int lane) {
    const auto own = static_cast<std::size_t>(position.thread);
    m_threads[own].given = bits;
    stop(State::kAtShuffle);
    return m_threads[own / kLanes * kLanes + static_cast<std::size_t>(lane)].shown;
  }

 private:
  struct Thread {
    context::fiber fiber;
    context::fiber* outside = nullptr;
    State state = State::kReady;
    std::uint64_t given = 0, shown = 0;
  };

  void begin(Thread& thread) {
    thread.state = State::kReady;
    thread.fiber = context::fiber(std::allocator_arg, m_stacks, [this, &thread](context::fiber&& outside) {
      thread.outside = &outside;
      m_kernel.run(m_parameters);
      thread.state = State::kReturned;
      return std::move(outside);
    });
  }
  void resume(std::uint32_t i) {
    position = m_block;
    position.thread = i;
    m_threads[i].fiber = std::move(m_threads[i].fiber).resume();
  }

  bool all(std::size_t first, std::size_t last, State state) const {
    return std::all_of(m_threads.begin() + static_cast<std::ptrdiff_t>(first),
                       m_threads.begin() + static_cast<std::ptrdiff_t>(last),
                       [&](const Thread& thread) { return thread.state == state; });
  }
  /// Those that everybody has come to whom they wait for.
  bool release() {
    bool released = false;
    for (std::size_t first = 0; first < m_threads.size(); first += kLanes) {
      const std::size_t last = std::min(first + kLanes, m_threads.size());
      if (!all(first, last, State::kAtShuffle)) continue;
      for (std::size_t i = first; i < last; ++i)
        m_threads[i].shown = m_threads[i].given, m_threads[i].state = State::kReady;
      released = true;
    }
    if (released) return true;
    const bool everybody = std::ranges::all_of(m_threads, [](const Thread& thread) {
      return thread.state == State::kAtBarrier || thread.state == State::kReturned;
    });
    if (!everybody) return false;
    for (Thread& thread : m_threads) {
      if (thread.state != State::kAtBarrier) continue;
      thread.state = State::kReady;
      released = true;
    }
    return released;
  }
  std::string complaint() const {
    for (std::size_t i = 0; i < m_threads.size(); ++i) {
      const std::string who = "thread " + std::to_string(i) + " of block " + std::to_string(m_block.block);
      if (m_threads[i].state == State::kAtShuffle)
        return who + " waits in a shuffle for one of its group that has returned or is at a barrier";
      if (m_threads[i].state == State::kAtBarrier) return who + " waits at a barrier that not all reach";
    }
    return "";
  }

  const EmulatedKernel& m_kernel;
  const void* m_parameters;
  std::vector<std::uint32_t> m_order;
  context::pooled_fixedsize_stack m_stacks{kStackBytes};
  std::vector<Thread> m_threads;
  Position m_block;
};

thread_local Team* team = nullptr;
thread_local std::string aloneMistake;

std::vector<std::uint32_t> ordered(std::uint32_t threads, ThreadOrder order) {
  std::vector<std::uint32_t> threadsInOrder(threads);
  std::iota(threadsInOrder.begin(), threadsInOrder.end(), 0u);
  if (order == ThreadOrder::kBackward) std::ranges::reverse(threadsInOrder);
  if (order == ThreadOrder::kShuffled) std::ranges::shuffle(threadsInOrder, std::mt19937(threads));
  return threadsInOrder;
}

std::string runTogether(const EmulatedKernel& kernel, const LaunchShape& shape, const void* parameters,
                        const std::vector<std::uint32_t>& blocks, ThreadOrder order) {
  if (shape.threads % kLanes != 0) return "its blocks are no multiple of a group of 16 threads";
  Team own(kernel, parameters, ordered(shape.threads, order));
  team = &own;
  std::string mistake;
  for (const std::uint32_t b : blocks) {
    mistake = own.run({0, b, shape.threads, shape.blocks});
    if (!mistake.empty()) break;
  }
  team = nullptr;
  return mistake;
}

std::string runAlone(const EmulatedKernel& kernel, const LaunchShape& shape, const void* parameters,
                     const std::vector<std::uint32_t>& blocks, ThreadOrder order) {
  const std::vector<std::uint32_t> threads = ordered(shape.threads, order);
  aloneMistake.clear();
  for (const std::uint32_t b : blocks)
    for (const std::uint32_t t : threads) {
      position = {t, b, shape.threads, shape.blocks};
      kernel.run(parameters);
    }
  return aloneMistake;
}

}  // namespace

void waitForBlock() {
  if (team) return team->stop(Team::State::kAtBarrier);
  aloneMistake = "it has a barrier, but is listed as a kernel whose threads do not speak";
}
std::uint64_t exchange(std::uint64_t bits, int lane) {
  if (team) return team->exchange(bits, lane);
  aloneMistake = "it has a shuffle, but is listed as a kernel whose threads do not speak";
  return bits;
}

std::string runKernel(const EmulatedKernel& kernel, const LaunchShape& shape, const void* parameters,
                      ThreadOrder order) {
  const std::vector<std::uint32_t> blocks = ordered(shape.blocks, order);
  const auto run = kernel.together ? runTogether : runAlone;
  const std::string mistake = run(kernel, shape, parameters, blocks, order);
  return mistake.empty() ? "" : "kernel " + std::string(kernel.name) + ": " + mistake;
}

}  // namespace msdbg::core::device::emulated
