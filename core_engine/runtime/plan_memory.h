// The memory of a plan: every tensor's, with the block that some share. Filled once when an executor is
// made; used from its thread.
#pragma once

#include <functional>
#include <vector>

#include "core_engine/plan/plan.h"
#include "core_engine/runtime/device_memory.h"

namespace msdbg::core {

struct PlanMemory {
  std::vector<Tensor> tensors;  // by TensorId; views and equal nodes share storage
  std::vector<Tensor> second;   // by TensorId: where it lies once it was computed again; empty: where it lay
  std::vector<bool> lasting;    // by TensorId: the value is there after an iteration, observed or not
  std::vector<Tensor> apart;    // by TensorId: next values' own memory while they are written in place
  Tensor shared;                // bytes
  Tensor observed;              // what lies behind them; empty before somebody observes
  std::size_t bytes = 0;        // of all storage
  DeviceMemory* device = nullptr;  // where all of it lies; nullptr: on the host

  /// Allocates; sources get their initial values, the rest zeros. Throws OutOfMemory that names the tensor
  /// and its line, as the next two.
  static PlanMemory allocate(const Graph& graph, const Plan& plan, std::uint64_t seed,
                             DeviceMemory* device = nullptr);
  /// What is needed only where somebody observes; nothing when it is there already.
  void allocateObserved(const Graph& graph, const Plan& plan);
  /// Before an iteration: next values that a plan has written in place lie where the current ones do, or
  /// apart where both are wanted (by TensorId).
  void replaceInPlace(const Graph& graph, const Plan& plan, const std::function<bool(TensorId)>& apart);
};

/// Every element becomes `value`, converted to the dtype.
void fillConstant(Tensor& tensor, double value);

}  // namespace msdbg::core
