// Observer: the only seam through which anything watches the engine (the recorder, tests, the watchdog).
// With none attached nothing is paid. All calls come from the training thread, in execution order; tensors
// are valid only during the call. An observer never changes a value and never throws; its own failures it
// keeps and reports.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/tensor/input_source.h"
#include "core_engine/tensor/statistics.h"

namespace msdbg::core {

using Scalars =
    std::vector<std::pair<std::string, double>>;  // "loss", "learning_rate", "accuracy", "step_time" (s), …

/// What an observer wants of an update beside the value that it makes.
enum class UpdateWish {
  kPrevious,    // the value before, in tensorReady()
  kStatistics,  // statistics and change, in TensorReady::update; where the kernel cannot take them, the value
                // before
  kNothing
};

/// What an observer wants of a tensor of an iteration, said before it is computed. Where values lie on a
/// device, nothing else is brought from there; elsewhere the value is at hand anyway.
struct ValueWish {
  bool value = true;        // its bytes, in TensorReady::value
  bool statistics = false;  // taken where it lies, in TensorReady::observed (with the hash), and the change
                            // that UpdateWish asks for; where that is not possible, its bytes
  std::optional<std::pair<double, double>> range = {};  // with them: of an activation
};

/// What the kernel of an update took of the value that it made. `seconds`: of the team's time, said with the
/// first output of a node.
struct ObservedUpdate {
  TensorObservation seen;
  double seconds = 0;
};

/// A tensor has its value. What it refers to is valid during the call only.
struct TensorReady {
  Iteration iteration;
  TensorId tensor;
  /// Its bytes lie on a device (Tensor::place()) where `observed` has what was wanted, and they were not.
  const Tensor& value;
  /// Of kUpdated tensors the parameter or state that the update read, unless updateWish() did without.
  const Tensor* previous = nullptr;
  /// The bytes are those of this tensor, which the observer saw and the engine did not write to since. A
  /// parameter or state has those that its update made in the iteration before, a view those of what it
  /// shows. Invalid: of none that is known.
  TensorId sameAs = {};
  const ObservedUpdate* update = nullptr;       // where UpdateWish::kStatistics could be granted
  const TensorObservation* observed = nullptr;  // where ValueWish::statistics could be granted
};

class Observer {
 public:
  virtual ~Observer() = default;

  /// A graph (version) is about to be executed; `graph` outlives the observer's use of it (until the next
  /// call).
  virtual void graphReady(const Graph& graph) = 0;
  /// What the loader made inputs of the next iteration from, where it says so: before iterationStarted().
  virtual void sourcesGiven(Iteration iteration, std::span<const GivenSource> sources) {
    (void)iteration, (void)sources;
  }
  /// Parameters, states or constants were set from outside since the last iteration: this one does not follow
  /// from it. Before iterationStarted().
  virtual void stateSet(Iteration iteration) { (void)iteration; }
  virtual void iterationStarted(Iteration iteration) = 0;
  /// Once per input at the start of the iteration, once per other source before the first kernel that reads
  /// it, and once per node output right after its kernel, in order.
  virtual void tensorReady(const TensorReady& ready) = 0;
  /// After iterationStarted(), for every kUpdated tensor. Without kPrevious the update may write over what it
  /// replaces, as it does when nobody observes.
  virtual UpdateWish updateWish(Iteration iteration, TensorId tensor) {
    (void)iteration, (void)tensor;
    return UpdateWish::kPrevious;
  }
  /// After updateWish(), for every tensor of the graph, where the values lie on a device.
  virtual ValueWish valueWish(Iteration iteration, TensorId tensor) {
    (void)iteration, (void)tensor;
    return {};
  }
  /// A kernel is about to run: what a watchdog names when a rank dies or hangs.
  virtual void kernelStarted(Iteration iteration, KernelId kernel) { (void)iteration, (void)kernel; }
  virtual void iterationFinished(Iteration iteration, const Scalars& scalars) = 0;
  /// Numbers that were found after an iteration had finished, and belong to it: of a round that ended with
  /// it, of an evaluation. Before the next iterationStarted(). A name that was given before is given anew.
  virtual void metricsGiven(Iteration iteration, const Scalars& metrics) { (void)iteration, (void)metrics; }
};

}  // namespace msdbg::core
