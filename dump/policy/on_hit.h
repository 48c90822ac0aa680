// OnHit: the flight recorder's part of RecordOptions. With conditions, values are kept only near iterations
// in which one of them fires, on all ranks; statistics are kept as always. Values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core_engine/base/result.h"
#include "watchpoints/condition.h"

namespace msdbg::dump {

struct OnHit {
  std::vector<std::string> conditions;  // as `msdbg check -w` takes them, or "recommended"; empty: off
  std::int64_t before = 1, after = 1;   // so many recorded iterations around a hit keep their values
  bool stop = false;                    // end training once those after the first hit are done

  bool on() const { return !conditions.empty(); }
  std::string text() const;  // for people: "tensor_overflow, dead_relu; 1 iteration before, 2 after"
};

struct OnHitConditions {
  std::vector<watch::Watchpoint> watchpoints;
  std::vector<std::string> leftOut;  // ids of the recommended set that cannot be asked while training goes on
};
/// kUsage, kNotFound: as parseWatchpoint(); or the condition cannot be asked online (why, and which can).
core::Result<OnHitConditions> onHitConditions(const std::vector<std::string>& texts);

}  // namespace msdbg::dump
