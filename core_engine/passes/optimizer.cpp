#include "core_engine/passes/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

Status check(bool good, std::string_view what, double value, std::string_view wanted) {
  if (good) return Ok{};
  return Error(ErrorCode::kUsage, "optimizer: " + std::string(what) + " is " + formatDouble(value) +
                                      ", but " + std::string(wanted) + " was expected");
}

/// Neither NaN nor infinite: either would be the parameters' value an update later.
bool isAmount(double value) { return value >= 0 && std::isfinite(value); }

constexpr std::string_view kAmount = "a finite number of at least 0";
constexpr std::string_view kClip = "a finite number of at least 0 (0: off)";

Status checkRule(const Sgd& r) {
  MSDBG_TRY(check(r.momentum >= 0 && r.momentum < 1, "momentum", r.momentum, "a number in [0, 1)"));
  return check(!r.nesterov || r.momentum > 0, "momentum", r.momentum, "a positive one for nesterov");
}
template <typename AdamRule>
Status checkRule(const AdamRule& r) {
  MSDBG_TRY(check(r.beta1 >= 0 && r.beta1 < 1, "beta1", r.beta1, "a number in [0, 1)"));
  MSDBG_TRY(check(r.beta2 >= 0 && r.beta2 < 1, "beta2", r.beta2, "a number in [0, 1)"));
  return check(isAmount(r.epsilon), "epsilon", r.epsilon, kAmount);
}

Status checkSchedule(const Schedule& s) {
  MSDBG_TRY(check(s.warmUp >= 0, "warmUp", static_cast<double>(s.warmUp), "a number of at least 0"));
  const bool timed = s.kind != Schedule::Kind::kConstant;
  MSDBG_TRY(check(!timed || s.length >= 1, "the schedule's length", static_cast<double>(s.length),
                  "a number of at least 1"));
  MSDBG_TRY(check(isAmount(s.factor), "the schedule's factor", s.factor, kAmount));
  return check(isAmount(s.last), "the schedule's last factor", s.last, kAmount);
}

Status checkGroup(const ParameterGroup& g) {
  if (g.match.empty())
    return Error(ErrorCode::kUsage, "optimizer: a group's match is empty, but a glob was expected (*/bias)");
  const std::string group = "group " + g.match + ": ";
  MSDBG_TRY(check(isAmount(g.lrFactor), group + "lrFactor", g.lrFactor, kAmount));
  const double decay = g.weightDecay.value_or(0);
  return check(isAmount(decay), group + "weightDecay", decay, kAmount);
}

}  // namespace

double Schedule::at(Iteration iteration) const {
  const std::int64_t k = iteration.value;
  if (k < warmUp) return static_cast<double>(k + 1) / static_cast<double>(warmUp);
  const std::int64_t after = k - warmUp;
  switch (kind) {
    case Kind::kConstant:
      return 1;
    case Kind::kStep:
      return std::pow(factor, static_cast<double>(after / length));
    case Kind::kCosine:
      break;
  }
  const double share = static_cast<double>(std::min(after, length)) / static_cast<double>(length);
  return last + (1 - last) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

Schedule constantSchedule(std::int64_t warmUp) { return {.warmUp = warmUp}; }
Schedule stepSchedule(std::int64_t every, double factor, std::int64_t warmUp) {
  return {.kind = Schedule::Kind::kStep, .warmUp = warmUp, .length = every, .factor = factor};
}
Schedule cosineSchedule(std::int64_t iterations, double last, std::int64_t warmUp) {
  return {.kind = Schedule::Kind::kCosine, .warmUp = warmUp, .length = iterations, .last = last};
}

std::string_view Optimizer::name() const {
  constexpr std::string_view kNames[] = {"sgd", "adam", "adamw"};  // the variant's order
  return kNames[rule.index()];
}
double Optimizer::lr() const {
  return std::visit([](const auto& r) { return r.lr; }, rule);
}
void Optimizer::setLr(double lr) {
  std::visit([lr](auto& r) { r.lr = lr; }, rule);
}

const ParameterGroup* Optimizer::groupOf(std::string_view parameter) const {
  for (const ParameterGroup& group : groups)
    if (globMatch(group.match, parameter)) return &group;
  return nullptr;
}
double Optimizer::weightDecayOf(std::string_view parameter) const {
  const ParameterGroup* group = groupOf(parameter);
  if (group && group->weightDecay) return *group->weightDecay;
  return std::visit([](const auto& r) { return r.weightDecay; }, rule);
}

Status checkLearningRate(double rate) { return check(isAmount(rate), "lr", rate, kAmount); }

Status checkOptimizer(const Optimizer& o) {
  MSDBG_TRY(checkLearningRate(o.lr()));
  const double decay = std::visit([](const auto& r) { return r.weightDecay; }, o.rule);
  MSDBG_TRY(check(isAmount(decay), "weightDecay", decay, kAmount));
  MSDBG_TRY(std::visit([](const auto& r) { return checkRule(r); }, o.rule));
  MSDBG_TRY(check(isAmount(o.clipValue), "clipValue", o.clipValue, kClip));
  MSDBG_TRY(check(isAmount(o.clipNorm), "clipNorm", o.clipNorm, kClip));
  MSDBG_TRY(check(o.accumulate >= 1, "accumulate", static_cast<double>(o.accumulate),
                  "a number of iterations of at least 1"));
  for (const ParameterGroup& group : o.groups) MSDBG_TRY(checkGroup(group));
  return checkSchedule(o.schedule);
}

}  // namespace msdbg::core
