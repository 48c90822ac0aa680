// Evaluation: a model's inference graph with activations of its own, computed with the parameters and states
// of a training graph (their memory is shared, never written). Training is not touched: it goes on with the
// same bits. One thread; the same as the trainer's.
#pragma once

#include <memory>

#include "core_engine/passes/inference_graph.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/batch_inputs.h"
#include "core_engine/train/classification.h"

namespace msdbg::core {

class Evaluation {
 public:
  /// Of a model as it was built, with the given inputs in other shapes: computes what is wanted, or the loss
  /// alone. Errors as inferenceGraph(), withInputShapes() and Executor::create().
  static Result<std::unique_ptr<Evaluation>> create(const Graph& model, std::span<const TensorId> wanted,
                                                    std::span<const InputShape> shapes,
                                                    ExecutorOptions options);

  /// From now on with the values that the training graph has now.
  Status share(const Graph& training, const Executor& values);
  /// Whether the inputs have the shapes of the batch. kUsage as BatchInputs::find().
  Result<bool> fits(const Batch& batch);
  /// kUsage: the batch does not fit.
  Status run(const Batch& batch);
  const Tensor& value(std::size_t i) const { return m_executor->value(m_model.wanted.at(i)); }
  double loss() const { return value(0).at(0); }
  /// Of the last batch; 0 where the model is no classification.
  std::int64_t labels() const;
  std::int64_t correct(std::int64_t rows) const;  // among its first rows
  const Graph& graph() const { return m_model.graph; }

 private:
  explicit Evaluation(InferenceGraph model) : m_model(std::move(model)), m_inputs(m_model.graph) {}
  /// The batch without what the loss does not read.
  Batch read(const Batch& batch) const;

  InferenceGraph m_model;
  std::vector<std::string> m_unread;  // inputs of the model that are not in its inference graph
  BatchInputs m_inputs;
  std::unique_ptr<Executor> m_executor;
  std::optional<Classification> m_classification;
};

}  // namespace msdbg::core
