// Optimizers: what the next value of a parameter, or of a state of theirs, is made of.
#include <cmath>

#include "core_engine/ops/adam.h"
#include "replay/explain/rows_internal.h"

namespace msdbg::replay {
namespace {

// Inputs of both.
constexpr std::size_t kParameter = 0, kGradient = 1, kRate = 2;

/// Whether this run of an update leaves all as it is (ops/micro_step.h); then its row is said.
bool betweenUpdates(const Asked& asked, std::size_t replaced) {
  const std::int64_t every = core::intAttribute(asked.attributes(), "every", 1);
  if (every <= 1) return false;
  const std::size_t microStep = asked.inputs() - 1;
  asked.read(microStep, 0);
  if (asked.scalar(microStep) == static_cast<double>(every - 1)) return false;
  asked.add(1, {{replaced, asked.element()}});
  return true;
}

/// 1 / rate of what a learning rate of 1 makes: the state and gradients as a step subtracts them.
RowResult adamParameter(const Asked& asked) {
  constexpr std::size_t kMean = 3, kSquare = 4, kStep = 5;
  const std::int64_t i = asked.element();
  const core::AdamSettings settings = core::adamSettings(asked.attributes());
  const core::AdamStep s = core::adamStepOf(settings, 1, static_cast<std::int64_t>(asked.scalar(kStep)));
  const double gradient = asked.at(kGradient, i) + s.decay * asked.at(kParameter, i);
  const double square = s.beta2 * asked.at(kSquare, i) + (1 - s.beta2) * gradient * gradient;
  const double step = s.rate / (std::sqrt(square) / s.rootCorrection + s.epsilon);
  asked.add(1, {{kParameter, i}});
  if (settings.decoupled && settings.weightDecay != 0)
    asked.add(-settings.rateFactor * settings.weightDecay, {{kRate, 0}, {kParameter, i}});
  asked.add(-step * s.beta1, {{kRate, 0}, {kMean, i}});
  asked.add(-step * (1 - s.beta1), {{kRate, 0}, {kGradient, i}});
  if (s.decay != 0) asked.add(-step * (1 - s.beta1) * s.decay, {{kRate, 0}, {kParameter, i}});
  asked.read(kSquare, i);
  asked.read(kStep, 0);
  return Relation::kSum;
}

}  // namespace

RowResult sgdRow(const Asked& asked) {
  constexpr std::size_t kMomentum = 3;
  if (betweenUpdates(asked, asked.slot() == 0 ? kParameter : kMomentum)) return Relation::kCopy;
  const std::int64_t i = asked.element();
  const double momentum = core::floatAttribute(asked.attributes(), "momentum", 0),
               decay = core::floatAttribute(asked.attributes(), "weight_decay", 0);
  if (asked.slot() == 1) {
    asked.add(momentum, {{kMomentum, i}});
    asked.add(1, {{kGradient, i}});
    if (decay != 0) asked.add(decay, {{kParameter, i}});
    return Relation::kSum;
  }
  const bool nesterov = core::intAttribute(asked.attributes(), "nesterov", 0) != 0;
  const double rate = core::floatAttribute(asked.attributes(), "lr_factor", 1),
               ofGradient = rate * (nesterov ? 1 + momentum : 1);
  asked.add(1, {{kParameter, i}});
  asked.add(-ofGradient, {{kRate, 0}, {kGradient, i}});
  if (decay != 0) asked.add(-ofGradient * decay, {{kRate, 0}, {kParameter, i}});
  if (momentum != 0)
    asked.add(-rate * (nesterov ? momentum * momentum : momentum), {{kRate, 0}, {kMomentum, i}});
  return Relation::kSum;
}

RowResult adamRow(const Asked& asked) {
  constexpr std::size_t kReplaced[] = {0, 3, 4};
  const std::size_t replaced = kReplaced[asked.slot()];
  if (betweenUpdates(asked, replaced)) return Relation::kCopy;
  if (asked.slot() == 0) return adamParameter(asked);
  const core::AdamSettings s = core::adamSettings(asked.attributes());
  const double beta = asked.slot() == 1 ? s.beta1 : s.beta2, decay = s.decoupled ? 0 : s.weightDecay;
  const std::int64_t i = asked.element();
  asked.add(beta, {{replaced, i}});
  if (asked.slot() == 1) {
    asked.add(1 - beta, {{kGradient, i}});
    if (decay != 0) asked.add((1 - beta) * decay, {{kParameter, i}});
    return Relation::kSum;
  }
  asked.add(1 - beta, {{kGradient, i}, {kGradient, i}});
  if (decay == 0) return Relation::kSum;
  asked.add(2 * (1 - beta) * decay, {{kGradient, i}, {kParameter, i}});
  asked.add((1 - beta) * decay * decay, {{kParameter, i}, {kParameter, i}});
  return Relation::kSum;
}

RowResult accumulateRow(const Asked& asked) {
  const auto steps = static_cast<double>(core::intAttribute(asked.attributes(), "steps", 1));
  const bool first = asked.scalar(2) == 0;
  asked.read(2, 0);
  if (!first) asked.add(1, {{1, asked.element()}});
  asked.add(1 / steps, {{0, asked.element()}});
  return Relation::kSum;
}

}  // namespace msdbg::replay
