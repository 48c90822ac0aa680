// Trainer: compiles the training graph, then step() runs one iteration and fit() many. Throws
// std::runtime_error (what, where) when a graph cannot be compiled, a batch does not fit or a rank is lost.
// Used from one thread.
#pragma once

#include <memory>
#include <optional>
#include <source_location>

#include "core_engine/graph/graph.h"
#include "core_engine/passes/optimizer.h"
#include "core_engine/tensor/training_state.h"
#include "core_engine/train/data.h"
#include "core_engine/train/run_context.h"

namespace msdbg::core {

class Executor;
struct FitOptions;
struct FitResult;

struct StepResult {
  double loss = 0, accuracy = 0, seconds = 0, learningRate = 0;
};  // of this rank's batch; accuracy NaN where classifies() is false

/// Of all ranks' batches.
struct EvaluationResult {
  double loss = 0, accuracy = 0;  // means; accuracy NaN where classifies() is false
};

/// What is read after an iteration: what is given (the loss), what the accuracy is computed from, what the
/// program keeps with its gradients, gradients of mutable inputs.
std::vector<TensorId> readAfterIteration(const Graph& graph, std::vector<TensorId> read);
inline std::vector<TensorId> readAfterIteration(const Graph& graph, TensorId loss) {
  return readAfterIteration(graph, std::vector{loss});
}

class Trainer {
 public:
  /// `where` is the learning rate's line; std::source_location{}: it has none.
  Trainer(RunContext& run, Graph& graph, Value loss, const Optimizer& optimizer,
          std::source_location where = std::source_location::current());
  ~Trainer();

  /// A batch may give the learning rate too, under its name: it is used instead of the optimizer's. Throws
  /// where a source given with the batch cannot become its input.
  StepResult step(const Batch& batch);
  /// Trains over the loader from iteration() on: train/fit.h. Every rank calls it alike. Throws also what a
  /// callback finds wrong.
  FitResult fit(const DataLoader& loader, const FitOptions& options);
  /// Loss and accuracy of the model as it is in evaluation (BatchNormalization by running values, no Dropout)
  /// over the loader's first `batches` (0: one epoch of it), shared among the ranks; every rank calls it and
  /// gets the same. Use a loader with shuffle = false and the graph's batch size. Nothing of training changes
  /// by it. Ranks have running values of their own.
  EvaluationResult evaluate(const DataLoader& heldOut, std::int64_t batches = 0);
  /// Records a number of the program's own beside the last iteration: metric("val_loss", …) after an
  /// evaluation. For rounds rather than for each iteration; of the same iteration and name the last one
  /// counts, and before the first step there is nothing that it could stand beside. Nothing where nobody
  /// records. Throws for a name that is empty or one of step()'s own (loss, learning_rate, step_time,
  /// accuracy). fit() does so with the metrics of its rounds: val_loss, val_accuracy, and round_loss and
  /// round_accuracy, its means.
  void metric(const std::string& name, double value);
  /// Share of the loader's first `samples` rows whose largest logit is the label, evaluated as above but
  /// by every rank alone: all of them. Use a loader with shuffle = false and the graph's batch size; rows of
  /// the last batch beyond `samples` are ignored.
  double evaluateAccuracy(const DataLoader& loader, std::int64_t samples);

  /// What the model makes of a batch with the values of now, as in evaluate(): the batch needs only the
  /// inputs that the value comes from, and may have another number of rows where the operators can take it.
  /// Every rank for itself. `value`: of the model, kept or not.
  Tensor predict(const Batch& batch, Value value);
  std::vector<Tensor> predict(const Batch& batch, std::span<const Value> values);

  /// A copy of a value: a parameter or state as the next forward pass will read it; of the last step else: an
  /// input, the loss, and what keep() was called for (train/keep.h).
  Tensor value(Value value) const;
  /// Of the last step: of a mutable input, or of what keep() was called for and a gradient reaches. Of this
  /// rank, before clipping.
  Tensor gradient(Value value) const;
  /// A parameter, state or constant from the next step on: copied from another, averaged, clipped by hand. Of
  /// its dtype and shape. A recording knows it: the iteration does not follow from the one before.
  void setValue(Value value, const Tensor& tensor);

  /// Copies; the values before the forward pass of the next iteration.
  TrainingState state() const;
  /// Goes on as if it had trained up to state.iteration: with the same batches and seed the next steps give
  /// the same bits. Throws, and changes nothing, when a tensor is missing, unknown or of another type or
  /// shape.
  void restore(const TrainingState& state);

  /// The optimizer's rate, to which its schedule is a factor; from the next step on. Throws where it is NaN,
  /// infinite or below 0.
  double learningRate() const;
  void setLearningRate(double rate);

  Iteration iteration() const;  // the next one
  Rank rank() const;
  bool classifies() const;  // whether there are accuracies
  const Graph& graph() const;
  Executor& executor();
  RunContext& run();

 private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

}  // namespace msdbg::core
