// Callbacks of Trainer::fit: asked at the end of every round (an epoch, or so many iterations), they may
// change the learning rate or end training. Each rank asks its own; all are told the same metrics and so
// decide the same. Used from the training thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core_engine/base/ids.h"
#include "core_engine/base/result.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

/// By name. "loss" and "accuracy": means over the round's batches of all ranks; "val_loss" and
/// "val_accuracy": over the held-out ones; "learning_rate": of the round's last iteration. A loss is per row,
/// of language models per place in the text, in nats. Accuracies are there where the graph is a
/// classification.
using Metrics = std::vector<std::pair<std::string, double>>;

struct Round {
  std::int64_t number = 0;  // in this fit, from 0
  Iteration last{0};        // its last iteration
  Metrics metrics = {};
};

/// What the model computes with: parameters and the states that its forward pass reads (running means and
/// variances), by full name. Not the optimizer's.
using ModelValues = std::vector<std::pair<std::string, Tensor>>;

/// What a callback may do.
class TrainingControl {
 public:
  virtual ~TrainingControl() = default;
  virtual double learningRate() const = 0;  // the optimizer's: its schedule is a factor to it
  virtual void setLearningRate(double rate) = 0;
  virtual void stop(std::string reason) = 0;    // after this round; one sentence
  virtual ModelValues modelValues() const = 0;  // copies
  virtual Status setModelValues(const ModelValues& values) = 0;
};

class Callback {
 public:
  virtual ~Callback() = default;
  /// Before the first iteration; a callback may be used again. kUsage: it cannot work so.
  virtual Status begin(TrainingControl& training) = 0;
  virtual Status roundEnded(const Round& round, TrainingControl& training) = 0;
  /// After the last iteration, also of a training that was stopped.
  virtual Status end(TrainingControl& training) = 0;
};

}  // namespace msdbg::core
