// BatchInputs: which inputs of a graph the tensors of a batch are for. A batch names an input in full or by
// the last part of its name. Keeps what it has looked up; the graph must outlive it. One thread.
#pragma once

#include <map>
#include <string>

#include "core_engine/passes/input_shapes.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/data.h"

namespace msdbg::core {

class BatchInputs {
 public:
  explicit BatchInputs(const Graph& graph) : m_graph(graph) {}

  /// kUsage: no input has the name, or several have (they are listed).
  Result<TensorId> find(const std::string& name);
  /// Loaders give float32: for a graph in float64 they are converted. kUsage also when an input is given
  /// twice.
  Result<Feeds> feeds(const Batch& batch);
  /// Those that the batch's tensors are made from: a program may have changed what a loader gave it. kUsage
  /// also when one cannot become its input.
  Result<std::vector<GivenSource>> sources(const Batch& batch);
  /// The inputs that the batch gives in another shape than the graph has them; of those the mutable ones.
  Result<std::vector<InputShape>> otherShapes(const Batch& batch);
  Result<std::vector<InputShape>> changedShapes(const Batch& batch);

 private:
  /// The input of each tensor.
  Result<std::vector<TensorId>> inputsOf(const Batch& batch);

  const Graph& m_graph;
  std::map<std::string, TensorId, std::less<>> m_known;
};

/// "input network/x changed from [64, 3, 32, 32] to [32, 3, 32, 32]"; several with commas.
std::string changeText(const Graph& graph, std::span<const InputShape> changed);

}  // namespace msdbg::core
