#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "core_engine/distributed/mpi_threads_internal.h"

using namespace msdbg;
using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

TEST_CASE("Leaving MPI waits for a thread that has work left") {
  std::atomic<bool> begun = false, done = false, leave = false;
  std::thread worker([&] {
    const Clock::time_point end = Clock::now() + 50ms;
    begun = true;
    while (Clock::now() < end) {
    }
    done = true;
    leave.wait(false);
  });
  while (!begun) std::this_thread::yield();
  core::waitUntilOtherThreadsSleep(30s);
  CHECK(done);
  leave = true;
  leave.notify_all();
  worker.join();
}

TEST_CASE("Leaving MPI gives up on a thread that never sleeps") {
  std::atomic<bool> begun = false, leave = false;
  std::thread worker([&] {
    begun = true;
    while (!leave) {
    }
  });
  while (!begun) std::this_thread::yield();
  const Clock::time_point before = Clock::now();
  core::waitUntilOtherThreadsSleep(20ms);
  CHECK(Clock::now() - before >= 20ms);
  leave = true;
  worker.join();
}
