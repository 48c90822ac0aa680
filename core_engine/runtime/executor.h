// Executor: runs a graph iteration by iteration on one rank, as a plan says (core_engine/plan): which nodes
// need no kernel, which tensors take turns in one buffer. Memory is allocated once. An observer sees every
// tensor of the graph, in the graph's order, whatever the plan. Parameters and states are swapped with their
// kUpdated tensors after each iteration. Used from one thread.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core_engine/base/cancel.h"
#include "core_engine/plan/plan.h"
#include "core_engine/runtime/backend.h"
#include "core_engine/runtime/fault.h"
#include "core_engine/runtime/observer.h"

namespace msdbg::core {

struct ExecutorOptions {
  int threads = 1;
  std::uint64_t seed = 0;
  Rank rank{0};
  int ranks = 1;
  Communicator* communicator = nullptr;  // must outlive the executor; may be null when ranks == 1
  BackendKind backend = BackendKind::kFast;
  bool observed = false;  // somebody will be: on a device values then keep their places, where there is
                          // memory, so that statistics of an iteration are taken at once
  std::vector<FaultSpec> faults = {};
  std::optional<std::vector<TensorId>> keep = {};  // what value() is asked for beside sources and next
                                                   // values; without a list: every tensor
  PlanChoices choices = {};
  std::vector<NodeId> replaceable = {};  // nodes whose outputs a Detour may replace
};

/// What an iteration does otherwise than the graph says. One that stops early leaves parameters and states as
/// they happen to be: set all of them before the next run().
struct Detour {
  NodeId last = {};         // nothing after it is computed; invalid: all is
  CancelToken cancel = {};  // asked between kernels
  /// Taken in place of what the nodes compute, which must be among ExecutorOptions::replaceable.
  std::vector<std::pair<TensorId, Tensor>> values = {};
};

using Feeds = std::vector<std::pair<TensorId, Tensor>>;  // inputs, labels, hyperparameters of one iteration

class Executor {
 public:
  /// Plans, compiles kernels (recording them in `graph` with setKernels), allocates, initialises parameters.
  static Result<std::unique_ptr<Executor>> create(Graph& graph, ExecutorOptions options);
  ~Executor();

  /// One training iteration: all nodes in order. A hyperparameter that is not fed keeps its value of the
  /// iteration before (one scaled by a planted `lr` fault, too: the Trainer feeds it every time). kUsage: a
  /// feed is missing or has the wrong shape or dtype.
  Status run(Iteration iteration, const Feeds& feeds, Observer* observer) {
    return run(iteration, feeds, observer, Detour());
  }
  /// kCancelled, naming the node that was to come; kUsage: a value that cannot be put in its place.
  Status run(Iteration iteration, const Feeds& feeds, Observer* observer, const Detour& detour);
  /// Forward nodes only, RunState::training = false; nothing is updated or observed. kUsage as run().
  Status evaluate(const Feeds& feeds);

  /// Between iterations. Empty (not valid()) for a tensor that was not to be kept and whose memory others
  /// take too, or that is computed only where observed.
  const Tensor& value(TensorId id) const;
  /// Overwrites a parameter, state or constant between iterations (checkpoints, tests). Bytes are copied. The
  /// observer of the next iteration is told.
  Status setValue(TensorId id, const Tensor& value);
  /// Something was set, and nobody was told yet.
  bool wasSet() const;
  /// What was set since is what training had: nobody needs to be told.
  void goesOn();
  /// The same for a source, but its memory is shared where kernels only read it.
  Status share(TensorId id, const Tensor& value);
  std::size_t peakBytes() const;  // memory of all tensors
  const Plan& plan() const;
  /// Wall seconds spent in each kernel so far; empty unless enabled (profiling is off by default).
  void enableProfile(bool on);
  std::vector<double> profile() const;

 private:
  struct Impl;
  explicit Executor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> m_impl;
};

}  // namespace msdbg::core
