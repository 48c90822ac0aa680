// Plan: what the executor does in one iteration, a step for every node of the graph and in its order. It
// begins as "every node runs its kernel, every tensor has memory of its own"; passes (pipeline.h) change how.
// The Graph is what the user wrote and what is recorded: no pass touches it, and because every node keeps its
// step, every tensor can be shown to an observer at its place whatever was changed. A value; not
// synchronised; share it const.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/plan/kernel_facts.h"
#include "core_engine/plan/pass_selection.h"

namespace msdbg::core {

enum class How : std::uint8_t {
  kRun,      // its kernel, in every iteration
  kOnce,     // its kernel once: all that it reads are constants
  kWatched,  // its kernel where somebody observes: nothing else needs its outputs
  kView,     // no kernel: an output has the elements of `shares`, in the same order, or some of them
  kSame,     // no kernel: its outputs are those of another node, `shares`, of the same type and inputs
  kGrouped,  // with the group of an earlier step, `leader`
};

struct PlanStep {
  NodeId node;
  How how = How::kRun;
  std::vector<TensorId> inputs = {};  // what the kernel reads: the node's inputs, or others of equal value
  std::vector<TensorId> shares = {};  // kView, kSame: one per output; each precedes the step
  std::vector<std::int64_t> starts = {};  // kView: by output, the element of it that is its first; none: 0
  std::vector<NodeId> again = {};         // computed a second time before this step, in order
  std::vector<GroupMember> group = {};    // kRun: all of its group are computed here, it is the first
  NodeId leader = {};                     // kGrouped: the first of its group
};

/// A block of memory that tensors whose lives do not overlap share. Places in it are in bytes.
struct SharedMemory {
  std::int64_t bytes = 0;
  std::int64_t observedBytes = 0;  // behind them: of values that are computed only where somebody observes
};

/// Where a value lies: in another's memory, or its own.
struct Region {
  TensorId root;           // whose memory it is
  std::int64_t start = 0;  // in elements
  auto operator<=>(const Region&) const = default;
};

struct Plan {
  static constexpr std::int64_t kOwnMemory = -1;

  std::vector<PlanStep> steps;              // by NodeId
  std::vector<std::int64_t> placeOf;        // by TensorId: in the shared memory, or kOwnMemory
  std::vector<std::int64_t> secondPlaceOf;  // the same from when it was computed again
  SharedMemory shared;
  std::vector<bool> inPlace;  // by TensorId: next values written over the current ones (UpdateWish)
  Layouts layouts;            // by TensorId: how the values lie between kernels

  /// Whether the value is written only where somebody observes: it is passed on inside a group.
  bool isInside(const Graph& graph, TensorId tensor) const;
  /// The tensor whose memory this one's value lies in: itself, or what its step shares.
  TensorId rootOf(const Graph& graph, TensorId tensor) const { return regionOf(graph, tensor).root; }
  Region regionOf(const Graph& graph, TensorId tensor) const;
};

/// What a plan must keep to.
struct PlanOptions {
  std::optional<std::vector<TensorId>> keep = {};  // read after an iteration, beside sources and next
                                                   // values; without a list: every tensor
  std::vector<NodeId> pinned = {};                 // run as they are: faults are planted there
  PlanChoices choices = {};
  const KernelFacts* kernels = nullptr;  // what they can do; none: row-major values, all at once
};

/// Every node runs its kernel.
Plan plainPlan(const Graph& graph);
/// A plan that cannot be executed is kInternal, naming the node and the broken rule: steps are the graph's
/// nodes in order, what a step reads or shares precedes it and has the type that the node expects, pinned
/// nodes run by themselves, collectives and updates run, a group computes what only precedes its first node
/// or is its own, and what lies inside is read by nobody else, only what a kernel makes is in another layout,
/// what is computed again is a forward node that runs, tensors that share memory are never needed at once,
/// nobody reads what an update has written over.
Status verifyPlan(const Graph& graph, const PlanOptions& options, const Plan& plan);

/// One line a step: `%12 = run Relu(network/fc1/Gemm-op1:0) -> float32[64,100]@4096  # network/fc1/Relu-op1`,
/// where @4096 is its place in the shared memory and [64,16c,32,32] says channels of 16; nothing is said of
/// memory of its own; @- is written over what it replaces. The first step of a group ends in `with %4 %6`,
/// the others begin with `grouped`; an output in parentheses is passed on inside. A step before which others
/// are computed again ends in `again %3 %4`. Deterministic.
std::string planText(const Graph& graph, const Plan& plan);

/// What was compiled for a step.
struct CompiledKernel {
  std::string name, implementation;
  int revision = 0;
};

/// The kernels of a plan, in the order of their steps; `compiled` has one for each step, of a group the name
/// with the leader and revisions with all. A view has a
/// kernel of its own that does nothing ("view:Reshape"); a kernel whose outputs serve several equal nodes
/// lists them all. kernelOf receives the place of every step's kernel.
std::vector<Kernel> planKernels(const Plan& plan, const Graph& graph,
                                const std::vector<CompiledKernel>& compiled, std::vector<KernelId>* kernelOf);

}  // namespace msdbg::core
