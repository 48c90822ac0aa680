// EarlyStopping and ReduceLROnPlateau by sequences of metric values. The expected rounds and rates were
// printed by Keras 3.15.1's own callbacks, given these values one by one (NumPy backend).
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/train/early_stopping.h"
#include "core_engine/train/reduce_lr_on_plateau.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;

namespace {

/// A model whose only value is the number of the round.
struct FakeTraining : TrainingControl {
  double rate = 0.5, value = -1;
  std::string stopped;
  double learningRate() const override { return rate; }
  void setLearningRate(double wanted) override { rate = wanted; }
  void stop(std::string reason) override { stopped = std::move(reason); }
  ModelValues modelValues() const override { return {{"w:0", Tensor::scalar(value)}}; }
  Status setModelValues(const ModelValues& values) override {
    value = values.at(0).second.at(0);
    return Ok{};
  }
};

Round roundOf(std::int64_t number, double value) {
  return {number, Iteration(number), {{"loss", 1}, {"val_loss", value}}};
}

struct Ended {
  int stoppedAt;   // -1: never
  double modelOf;  // the round whose values the model has at the end
};

Ended earlyStopping(const std::vector<double>& values, const EarlyStoppingOptions& options,
                    FakeTraining&& training = {}) {
  EarlyStopping callback(options);
  REQUIRE(callback.begin(training).ok());
  int stoppedAt = -1;
  for (std::size_t i = 0; i < values.size() && stoppedAt < 0; ++i) {
    training.value = static_cast<double>(i);
    REQUIRE(callback.roundEnded(roundOf(static_cast<std::int64_t>(i), values[i]), training).ok());
    if (!training.stopped.empty()) stoppedAt = static_cast<int>(i);
  }
  REQUIRE(callback.end(training).ok());
  return {stoppedAt, training.value};
}

std::vector<double> ratesOf(const std::vector<double>& values, const ReduceLROnPlateauOptions& options) {
  FakeTraining training;
  ReduceLROnPlateau callback(options);
  REQUIRE(callback.begin(training).ok());
  std::vector<double> rates;
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(callback.roundEnded(roundOf(static_cast<std::int64_t>(i), values[i]), training).ok());
    rates.push_back(training.rate);
  }
  return rates;
}

const double kNaN = std::nan("");
const std::vector<double> kFalling = {5, 4, 3.5, 3.6, 3.4, 3.45, 3.5, 3.6, 3.7, 3};
const std::vector<double> kPlateaus = {4, 3, 3, 3, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5};

}  // namespace

TEST_CASE("EarlyStopping stops and restores as Keras does") {
  struct Case {
    std::vector<double> values;
    EarlyStoppingOptions options;
    Ended expected;
  };
  const MonitorMode min = MonitorMode::kMin, max = MonitorMode::kMax;
  const Case cases[] = {
      {kFalling, {.patience = 0, .mode = min, .restoreBest = true}, {3, 2}},
      {kFalling, {.patience = 1, .restoreBest = true}, {3, 2}},
      {kFalling, {.patience = 2, .mode = min, .restoreBest = true}, {6, 4}},
      {kFalling, {.patience = 3, .mode = min, .restoreBest = true}, {7, 4}},
      {kFalling, {.patience = 5, .mode = min, .restoreBest = true}, {-1, 9}},
      {kFalling, {.minDelta = 0.75, .patience = 2, .mode = min, .restoreBest = true}, {3, 1}},
      {kFalling, {.minDelta = 0.25, .patience = 3, .mode = min, .restoreBest = true}, {5, 2}},
      {kFalling, {.patience = 2, .mode = max, .restoreBest = true}, {2, 0}},
      {kFalling, {.patience = 2, .mode = min}, {6, 6}},
      {{3, kNaN, 2, kNaN, kNaN, 1}, {.patience = 2, .mode = min, .restoreBest = true}, {4, 2}},
      {{2, 1, 1, 0.5, 0.5}, {.minDelta = 0.5, .patience = 2, .mode = min, .restoreBest = true}, {3, 1}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.options.patience, c.options.minDelta, c.values);
    const Ended ended = earlyStopping(c.values, c.options);
    CHECK(ended.stoppedAt == c.expected.stoppedAt);
    CHECK(ended.modelOf == c.expected.modelOf);
  }
}

// Keras up to 3.3 (best begins at infinity); since then NaN in the first epoch is the best for ever.
TEST_CASE("EarlyStopping: NaN in the first round is no best value") {
  const Ended ended =
      earlyStopping({kNaN, 3, 2, 2.5, 2.5}, {.patience = 2, .mode = MonitorMode::kMin, .restoreBest = true});
  CHECK(ended.stoppedAt == 4);
  CHECK(ended.modelOf == 2);
  CHECK(earlyStopping({kNaN, kNaN, 3}, {.patience = 1, .restoreBest = true}).stoppedAt == 1);
}

TEST_CASE("ReduceLROnPlateau lowers the rate as Keras does") {
  const std::vector<double> uneven = {3, kNaN, kNaN, 2, 2, 1.9999, 1.9998, 1.99985, 1, 1, 1, 1};
  struct Case {
    std::vector<double> values;
    ReduceLROnPlateauOptions options;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {kPlateaus,
       {.factor = 0.5, .patience = 1},
       {0.5, 0.5, 0.25, 0.125, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.001953125,
        0.0009765625}},
      {kPlateaus,
       {.factor = 0.5, .patience = 0},
       {0.5, 0.5, 0.25, 0.125, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.001953125,
        0.0009765625}},
      {kPlateaus,
       {.factor = 0.5, .patience = 2},
       {0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.0625, 0.0625, 0.03125, 0.03125}},
      {kPlateaus,
       {.factor = 0.5, .patience = 2, .cooldown = 2},
       {0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125, 0.0625, 0.0625, 0.0625}},
      {kPlateaus,
       {.factor = 0.5, .patience = 1, .cooldown = 2},
       {0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.0625, 0.0625, 0.03125, 0.03125, 0.015625}},
      {kPlateaus,
       {.factor = 0.5, .patience = 2, .minLr = 0.2},
       {0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}},
      {kPlateaus,
       {.factor = 0.1, .patience = 3, .minDelta = 0.75},
       {0.5, 0.5, 0.5, 0.5, 0.05, 0.05, 0.05, 0.005, 0.005, 0.005, 0.0005, 0.0005}},
      {kPlateaus,
       {.factor = 0.5, .patience = 1, .mode = MonitorMode::kMax},
       {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.001953125, 0.0009765625,
        0.00048828125, 0.000244140625}},
      {uneven,
       {.factor = 0.5, .patience = 2},
       {0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125, 0.125, 0.125, 0.0625, 0.0625}},
      {uneven,
       {.factor = 0.5, .patience = 2, .minDelta = 0},
       {0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.125, 0.125}},
      {uneven,
       {.factor = 0.5, .patience = 2, .minDelta = 0.00015, .cooldown = 1},
       {0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125, 0.125, 0.125, 0.0625, 0.0625}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.options.patience, c.options.cooldown, c.options.minLr, c.options.minDelta);
    const std::vector<double> rates = ratesOf(c.values, c.options);
    REQUIRE(rates.size() == c.expected.size());
    for (std::size_t i = 0; i < rates.size(); ++i) CHECK(rates[i] == Approx(c.expected[i]).epsilon(1e-12));
  }
}

TEST_CASE("a callback that is used again begins anew") {
  FakeTraining training;
  EarlyStopping callback({.patience = 1});
  for (int use = 0; use < 2; ++use) {
    training.stopped.clear();
    REQUIRE(callback.begin(training).ok());
    REQUIRE(callback.roundEnded(roundOf(0, 1.0 + use), training).ok());
    CHECK(training.stopped.empty());
    REQUIRE(callback.roundEnded(roundOf(1, 9), training).ok());
    CHECK(training.stopped == "val_loss has not improved for 1 round; the best was " +
                                  std::string(use == 0 ? "1" : "2") + " in round 0");
  }
}

TEST_CASE("the mode auto goes by the metric's name") {
  FakeTraining training;
  for (const char* metric : {"accuracy", "val_accuracy"}) {
    EarlyStopping callback({.monitor = metric, .patience = 1});
    REQUIRE(callback.begin(training).ok());
    for (const double value : {0.1, 0.2, 0.3})
      REQUIRE(
          callback
              .roundEnded({static_cast<std::int64_t>(value * 10), Iteration(0), {{metric, value}}}, training)
              .ok());
    CHECK(training.stopped.empty());
    CHECK(callback.best() == 0.3);
  }
}

TEST_CASE("callbacks say what is wrong with their options and which metrics there are") {
  FakeTraining training;
  const auto refused = [&](Callback&& callback) {
    const Status status = callback.begin(training);
    return status.ok() ? std::string("accepted") : status.error().message();
  };
  CHECK(refused(EarlyStopping({.patience = -1})) == "EarlyStopping: patience must be at least 0");
  CHECK_THAT(refused(EarlyStopping({.minDelta = -0.5})),
             Contains("EarlyStopping: minDelta is -0.5") && Contains("at least 0"));
  CHECK_THAT(refused(ReduceLROnPlateau({.factor = 1})), Contains("factor must lie between 0 and 1"));
  CHECK_THAT(refused(ReduceLROnPlateau({.cooldown = -1})), Contains("cooldown"));
  CHECK_THAT(refused(ReduceLROnPlateau({.minLr = -1})), Contains("minLr"));
  EarlyStopping callback({.monitor = "val_acc"});
  REQUIRE(callback.begin(training).ok());
  const Status unknown = callback.roundEnded({0, Iteration(0), {{"loss", 1}, {"accuracy", 0}}}, training);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code() == ErrorCode::kNotFound);
  CHECK_THAT(unknown.error().message(),
             Contains("'val_acc'") && Contains("loss, accuracy") && Contains("held-out data"));
}
