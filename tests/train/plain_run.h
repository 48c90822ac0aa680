// A RunContext without a recorder, for tests: what it gives is what its fields say.
#pragma once

#include "core_engine/distributed/communicators.h"
#include "core_engine/train/run_context.h"

namespace msdbg::test {

struct PlainRun : core::RunContext {
  explicit PlainRun(core::Communicator* given = nullptr)
      : ownRank(core::makeLocalCommunicator()), shared(given ? given : ownRank.get()) {}

  core::Communicator& communicator() override { return *shared; }
  core::Observer* observer() override { return watching; }
  std::uint64_t seed() const override { return seedValue; }
  int threads() const override { return threadCount; }
  const std::vector<core::FaultSpec>& faults() const override { return planted; }
  std::int64_t steps(std::int64_t fallback) const override {
    return stepsWanted > 0 ? stepsWanted : fallback;
  }
  bool stopRequested() override { return stopAfter >= 0 && asked++ >= stopAfter; }

  std::unique_ptr<core::Communicator> ownRank;
  core::Communicator* shared;
  core::Observer* watching = nullptr;
  std::uint64_t seedValue = 1;
  int threadCount = 1;
  std::vector<core::FaultSpec> planted;
  std::int64_t stepsWanted = 0;
  std::int64_t stopAfter = -1, asked = 0;  // stopRequested() is true from this call on
};

}  // namespace msdbg::test
