// Updates of parameters, optimizer states and counters. What is written may lie where what it replaces does.
#pragma once

#include "core_engine/device/kernels/kernel.h"
#include "core_engine/device/kernels/parameters.h"

namespace msdbg::core::device {

MSDBG_DEVICE bool waits(const UpdateTime& t) { return t.microStep && *t.microStep != t.every - 1; }

MSDBG_KERNEL(sgd_update, SgdParameters) {
  SgdSettings s = p.settings;
  s.rate = static_cast<double>(*p.rate) * p.rateFactor;
  const bool asItIs = waits(p.time);
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads()) {
    if (asItIs) {
      p.next[i] = p.p[i];
      if (p.state) p.nextState[i] = p.state[i];
    } else if (p.state) {
      sgdMomentumOf(s, p.p[i], p.g[i], p.state[i], p.next[i], p.nextState[i]);
    } else {
      p.next[i] = sgdOf(s, p.p[i], p.g[i]);
    }
  }
}

MSDBG_KERNEL(adam_update, AdamParameters) {
  const AdamStep s = adamStepOf(p.settings, static_cast<double>(*p.rate), *p.step);
  const bool asItIs = waits(p.time);
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads()) {
    if (asItIs) {
      p.next[i] = p.p[i];
      p.nextMean[i] = p.mean[i];
      p.nextSquare[i] = p.square[i];
    } else {
      adamOf(s, p.p[i], p.g[i], p.mean[i], p.square[i], p.next[i], p.nextMean[i], p.nextSquare[i]);
    }
  }
}

MSDBG_KERNEL(accumulate_gradient, AccumulateParameters) {
  const bool first = *p.microStep == 0;
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads()) {
    const double share = static_cast<double>(p.g[i]) / p.steps;
    p.next[i] = static_cast<float>(first ? share : static_cast<double>(p.sum[i]) + share);
  }
}

MSDBG_KERNEL(step_update, StepParameters) {
  if (globalThread() != 0) return;
  const auto done = static_cast<std::uint64_t>(*p.step), modulo = static_cast<std::uint64_t>(p.modulo);
  const std::uint64_t next = waits(p.time) ? done : done + 1;
  *p.next = static_cast<std::int64_t>(modulo > 0 ? next % modulo : next);
}

}  // namespace msdbg::core::device
