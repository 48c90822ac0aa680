// Optimizers as data; the training compiler turns them into update nodes (passes/insert_updates.cpp).
// Formulas and defaults are PyTorch's. Values; thread-safe to read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core_engine/base/ids.h"
#include "core_engine/base/result.h"

namespace msdbg::core {

/// g += weightDecay * p;  v = momentum * v + g;  p' = p - lr * v, with nesterov p - lr * (g + momentum * v).
struct Sgd {
  double lr = 0.01;
  double momentum = 0;
  double weightDecay = 0;
  bool nesterov = false;  // needs a momentum
};

/// g += weightDecay * p;  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²;
/// p' = p - lr * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon), t counting from 1.
struct Adam {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weightDecay = 0;
};

/// The same, but the decay is no part of g: p is scaled by 1 - lr * weightDecay first.
struct AdamW {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weightDecay = 0.01;
};

/// What the learning rate is multiplied by at an iteration: first a linear warm-up, then one of the shapes.
struct Schedule {
  enum class Kind : std::uint8_t { kConstant, kStep, kCosine } kind = Kind::kConstant;
  std::int64_t warmUp = 0;  // iterations over which the rate rises linearly; the first one has 1 / warmUp
  std::int64_t length =
      0;                // kStep: iterations between two drops; kCosine: iterations (after warm-up) to `last`
  double factor = 0.1;  // kStep: what each drop multiplies by
  double last = 0;      // kCosine: the factor at the end and after it

  double at(Iteration iteration) const;
};
Schedule constantSchedule(std::int64_t warmUp = 0);
Schedule stepSchedule(std::int64_t every, double factor = 0.1, std::int64_t warmUp = 0);
Schedule cosineSchedule(std::int64_t iterations, double last = 0, std::int64_t warmUp = 0);

/// What is different for some of the parameters. The first group that fits decides.
struct ParameterGroup {
  std::string match;                       // a glob over full names: "*/bias", "net/encoder/*"
  double lrFactor = 1;                     // their rate is this times the optimizer's
  std::optional<double> weightDecay = {};  // in place of the rule's
};

/// How parameters change: one of the rules, the rate over time, and what is done to gradients before. Any
/// rule alone is an Optimizer: Trainer(run, graph, loss, Adam{.lr = 3e-4}).
struct Optimizer {
  using Rule = std::variant<Sgd, Adam, AdamW>;

  Optimizer() = default;
  Optimizer(const Sgd& chosen) : rule(chosen) {}
  Optimizer(const Adam& chosen) : rule(chosen) {}
  Optimizer(const AdamW& chosen) : rule(chosen) {}

  Rule rule;
  Schedule schedule;
  std::vector<ParameterGroup> groups = {};
  std::int64_t accumulate = 1;  // gradients of so many iterations are averaged, then the parameters updated
  double clipValue = 0;         // every gradient element is kept in [-clipValue, clipValue]; 0: as it is
  double clipNorm = 0;          // all gradients together are scaled to at most this l2 norm; 0: as they are

  std::string_view name() const;  // "sgd", "adam", "adamw"
  double lr() const;
  void setLr(double lr);
  /// Schedules count updates: with `accumulate` a rate serves so many iterations.
  double rateAt(Iteration iteration) const {
    return lr() * schedule.at(Iteration{iteration.value / accumulate});
  }
  /// The group that decides for a parameter; nullptr: none, the rule does.
  const ParameterGroup* groupOf(std::string_view parameter) const;
  double weightDecayOf(std::string_view parameter) const;
};

/// kUsage: a rate, momentum, beta, decay, clip, group or schedule out of its range (which one, and the
/// range).
Status checkOptimizer(const Optimizer& optimizer);
/// kUsage: NaN, infinite or below 0.
Status checkLearningRate(double rate);

}  // namespace msdbg::core
