// What a plan becomes before it runs: a step for each node, with its kernel, the places of its inputs and
// outputs and what an observer sees at it. Internal to the executor.
#pragma once

#include <memory>
#include <vector>

#include "core_engine/plan/plan.h"
#include "core_engine/runtime/backend.h"
#include "core_engine/runtime/layout_adapter.h"
#include "core_engine/runtime/plan_memory.h"
#include "core_engine/runtime/update_watch.h"

namespace msdbg::core {

struct Step {
  const Node* node = nullptr;
  How how = How::kRun;
  KernelId id;                         // in the graph's table
  std::unique_ptr<KernelImpl> kernel;  // none: the outputs are those of `shared`, or a group makes them
  std::unique_ptr<GroupKernel> group;  // in place of `kernel`: of this node and its `members`
  std::vector<KernelArgs> members;
  std::vector<const Tensor*> inputs, shared;
  std::vector<Tensor*> outputs;
  std::vector<std::int64_t> starts;    // of the outputs in `shared`, in elements; none: 0
  bool done = false;                   // kOnce: the outputs hold their values
  std::vector<NodeId> again;           // to compute a second time before it
  std::vector<Tensor> first, second;   // where the outputs lie each time; empty: they stay where they are
  std::unique_ptr<UpdateWatch> watch;  // of what it writes in place; none: it does not
  std::vector<TensorId> firstReads;    // sources that no step before it reads: an observer sees them now
};

struct CompiledSteps {
  std::vector<Step> steps;  // by NodeId
  std::vector<TensorId>
      given;  // sources that an observer sees at the start: inputs, and what no kernel reads
};

/// What steps are made of and keep pointing to. `backends`: the first that has a kernel is taken.
struct StepMaterial {
  Graph& graph;  // setKernels() says which kernels there are
  const Plan& plan;
  PlanMemory& memory;
  const RunState& state;
  const std::vector<std::unique_ptr<Backend>>& backends;
  std::shared_ptr<LayoutScratch> scratch;
  int threads = 1;
};
/// kUnsupported: no backend has a kernel for a node.
Result<CompiledSteps> compileSteps(const StepMaterial& material);

}  // namespace msdbg::core
