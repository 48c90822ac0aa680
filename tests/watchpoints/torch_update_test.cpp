// What optimizers of PyTorch programs are set to and read: groups, rates, states, clipped gradients; data and
// metrics beside them. Each mistake is named, and the healthy program that looks like it is not.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/watchpoints/torch_program.h"
#include "watchpoints/conditions/rate_schedule.h"

namespace msdbg::test {

using namespace core;
using namespace torch_program;
using watch::Severity;

namespace {

// Adam, whose gradients are multiplied by this much when they are clipped; `scale`: of a GradScaler, 0: none.
std::string ofClipping(double factor, double scale) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  const TensorId y = p.layer("Net/a", p.x, a);
  const TensorId loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
  const TensorId gradient = p.gradient("Net/a", y, a, loss);
  const TensorId norm =
      p.node("linalg_vector_norm", "main", Phase::kUpdate, {gradient}, floats(TensorRole::kGradient, "", {}));
  const TensorId least = p.node("clamp", "main", Phase::kUpdate, {norm},
                                floats(TensorRole::kGradient, "", {}), {}, "aten", {{"max", 1.0}});
  TensorInfo info = floats(TensorRole::kUpdated, "", {16, 16});
  info.updateOf = a;
  p.node("Adam", "update/Net/a", Phase::kUpdate, {a, gradient, rate}, info, {}, "torch.optim");
  FakeSource source(p.graph, 1, 20);
  Tensor left = Tensor::zeros(DType::Float32, {});
  left.data<float>()[0] = static_cast<float>(factor);
  for (int k = 0; k < 20; ++k) {
    source.record(Rank(0), Iteration(k), least, left);
    if (scale > 0) source.setScalar(0, k, "loss_scale", scale);
  }
  return said(source, "clipping_too_tight", Severity::kFault);
}

}  // namespace

namespace {

// One layer whose optimizer, made in line 7, was set to this.
std::string ofSettings(const char* optimizer, Attributes settings, double lr = 0.1) {
  Program p;
  const TensorId weight = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  const TensorId h = p.layer("Net/a", p.x, weight), gradient = p.gradient("Net/a", h, weight, h);
  TensorInfo next = floats(TensorRole::kUpdated, "", {16, 16});
  next.updateOf = weight;
  p.node(optimizer, "update/Net/a", Phase::kUpdate, {weight, gradient, rate}, next, {}, "torch.optim",
         std::move(settings));
  FakeSource source(p.graph, 1, 1);
  Tensor value(DType::Float64, {});
  value.data<double>()[0] = lr;
  source.record(Rank(0), Iteration(0), rate, value);
  const CheckReport report =
      check(source, {watch::parseWatchpoint("hyperparameter_range:recommended").value()}, {});
  if (report.hits.empty()) return "";
  return report.hits[0].detail + (report.hits[0].writtenAt == rate ? " (line 7)" : "");
}

}  // namespace

TEST_CASE("hyperparameter_range knows what torch's optimizers were set to") {
  CHECK(contains(ofSettings("SGD", {{"momentum", 0.999}}), "a momentum of 0.999 adds up 1000 steps"));
  CHECK(contains(ofSettings("SGD", {{"momentum", 0.999}}), "(line 7)"));
  CHECK(ofSettings("SGD", {{"momentum", 0.9}, {"weight_decay", 1e-4}, {"nesterov", true}}).empty());
  CHECK(
      contains(ofSettings("SGD", {{"weight_decay", 10.0}}), "weight decay of 10 at a learning rate of 0.1"));
  CHECK(contains(ofSettings("AdamW", {{"weight_decay", 1.0}}), "weights shrink to nothing"));
  CHECK(ofSettings("AdamW", {{"weight_decay", 0.1}, {"beta1", 0.9}, {"beta2", 0.95}}, 1e-3).empty());
  CHECK(ofSettings("SGD", {{"weight_decay", 5e-4}}, 100).empty());  // it is the rate that is out of range
  // An optimizer of the program's own may be called so, and be set to what it likes.
  CHECK(ofSettings("SGD", {{"momentum", true}, {"weight_decay", std::string("cosine")}}).empty());
  CHECK(ofSettings("Adam", {{"beta1", std::string("x")}, {"beta2", std::int64_t{1}}}).empty());
  CHECK(
      contains(ofSettings("Adam", {{"beta1", 0.999}, {"beta2", 0.9}}), "are they swapped (0.9 and 0.999)?"));
}

namespace {

// Steps of SGD far larger than the weight, of a model that is given data of this size.
std::string ofData(double size, bool operators) {
  Program p;
  const TensorId weight = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  const TensorId read = operators ? p.layer("Net/a", p.x, weight) : p.x;
  const TensorId loss = p.node("forward", "Net", Phase::kForward, {read}, floats(TensorRole::kLoss, "", {}),
                               {}, operators ? "aten" : "torch");
  const TensorId gradient = p.gradient("Net/a", loss, weight, loss);
  const TensorId next = p.update("Net/a", weight, gradient, rate);
  FakeSource source(p.graph, 1, 4);
  for (int k = 0; k < 4; ++k) {
    const auto record = [&](TensorId tensor, const Tensor& value) {
      source.record(Rank(0), Iteration(k), tensor, value);
    };
    record(p.x, numbers({8, 16}, size));
    record(weight, numbers({16, 16}, 0.1));
    record(gradient, numbers({16, 16}, 50));
    record(next, numbers({16, 16}, 5));
    record(rate, numbers({}, 0, 0.1));
    record(loss, numbers({}, 0, 3 + k));
  }
  return said(source, "weight_change_too_large", Severity::kFault);
}

}  // namespace

TEST_CASE("A step that is too large because of the data is told so") {
  for (const bool operators : {false, true}) {
    CHECK(contains(ofData(255, operators), "arrives neither scaled nor normalised"));
    const std::string scaled = ofData(1, operators);
    CHECK((contains(scaled, "learning rate 0.1") && !contains(scaled, "arrives")));
  }
}

TEST_CASE("The line of a rate is where its scheduler steps, if a program of torch has one") {
  Program p;
  const TensorId first = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {}),
                 other = p.source(TensorRole::kHyperparameter, "optimizer1/learning_rate/1", {});
  CHECK_FALSE(watch::scheduleLine(p.graph, other).valid());
  const TensorId mark =
      p.node("torch.schedule", "update/main", Phase::kUpdate, {}, floats(TensorRole::kActivation, "", {}), {},
             "torch", {{"optimizer", std::int64_t{1}}});
  CHECK(watch::scheduleLine(p.graph, other) == mark);
  CHECK_FALSE(watch::scheduleLine(p.graph, first).valid());
}

namespace {

// Adam gives NaN. `least`: of its mean of squares, of which the program wrote an element.
std::string ofSquares(double least) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {}),
                 mean = p.source(TensorRole::kOptimizerState, "state/Net/a/weight/exp_avg", {16, 16}),
                 squares = p.source(TensorRole::kOptimizerState, "state/Net/a/weight/exp_avg_sq", {16, 16});
  const TensorId y = p.layer("Net/a", p.x, a), gradient = p.gradient("Net/a", y, a, y),
                 written = p.node("fill_", "main", Phase::kUpdate, {},
                                  floats(TensorRole::kActivation, "", {16, 16}));
  TensorInfo info = floats(TensorRole::kUpdated, "", {16, 16});
  info.updateOf = a;
  const TensorId next = p.node("Adam", "update/Net/a", Phase::kUpdate,
                               {a, gradient, mean, squares, rate, written}, info, {}, "torch.optim");
  FakeSource source(p.graph, 1, 1);
  Tensor state = Tensor::zeros(DType::Float32, {16, 16}), wrong = numbers({16, 16}, 1);
  state.data<float>()[3] = static_cast<float>(least);
  wrong.data<float>()[3] = std::nanf("");
  for (const auto& [tensor, value] : {std::pair(a, numbers({16, 16}, 1)),
                                      {gradient, numbers({16, 16}, 1)},
                                      {squares, state},
                                      {next, wrong}})
    source.record(Rank(0), Iteration(0), tensor, value);
  return said(source, "nonfinite_propagation", Severity::kFault);
}

}  // namespace

namespace {

// Adam, or another, of parameters of 16 bits gives Inf; what it was set to.
std::string ofHalf(const char* optimizer, DType dtype, Attributes settings) {
  Program p;
  const auto half = [&](TensorRole role, const char* name) {
    TensorInfo info = floats(role, name, {16, 16});
    info.dtype = dtype;
    return info;
  };
  TensorInfo weight = half(TensorRole::kParameter, "Net/a/weight"), given = half(TensorRole::kGradient, ""),
             updated = half(TensorRole::kUpdated, "");
  weight.trainable = true;
  const TensorId a = p.graph.addSource(weight);
  given.gradientOf = updated.updateOf = a;
  const TensorId y = p.layer("Net/a", p.x, a),
                 gradient =
                     p.node("mm", "grad/Net/a", Phase::kBackward, {y}, given, p.graph.tensor(y).producer),
                 next = p.node(optimizer, "update/Net/a", Phase::kUpdate, {a, gradient}, updated, {},
                               "torch.optim", std::move(settings));
  FakeSource source(p.graph, 1, 1);
  Tensor wrong = numbers({16, 16}, 1);
  wrong.data<float>()[3] = INFINITY;
  for (const auto& [tensor, value] :
       {std::pair(a, numbers({16, 16}, 1)), {gradient, numbers({16, 16}, 1e-3)}, {next, wrong}})
    source.record(Rank(0), Iteration(0), tensor, value.cast(dtype));
  return said(source, "nonfinite_propagation", Severity::kFault);
}

}  // namespace

TEST_CASE("nonfinite_propagation knows an eps that the dtype of the parameters rounds to 0") {
  CHECK(contains(ofHalf("Adam", DType::Float16, {{"eps", 1e-8}}), "eps = 1e-08 is 0 in float16"));
  CHECK_FALSE(contains(ofHalf("Adam", DType::Float16, {{"eps", 1e-4}}), "is 0 in float16"));
  CHECK_FALSE(contains(ofHalf("Adam", DType::BFloat16, {{"eps", 1e-8}}), "is 0 in"));  // which has it
  CHECK_FALSE(contains(ofHalf("SGD", DType::Float16, {{"momentum", 0.9}}), "is 0 in float16"));
}

TEST_CASE("nonfinite_propagation names a mean of squares that the program made negative") {
  CHECK(contains(ofSquares(-1e-3), "input 3 (state/Net/a/weight/exp_avg_sq) is negative"));
  CHECK(contains(ofSquares(-1e-3), "no step makes it so, main/fill_-op1 wrote to it"));
  CHECK_FALSE(contains(ofSquares(1e-3), "is negative"));
}

namespace {

// An operator beside the way to the loss gives NaN. `loss`: what the loss is then, if it is recorded.
std::string ofMetric(std::optional<double> loss, Severity severity, const char* condition) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}), y = p.layer("Net/a", p.x, a),
                 mean = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {})),
                 metric = p.node("_softmax", "main/no_grad", Phase::kForward, {y},
                                 floats(TensorRole::kActivation, "", {8, 16}));
  FakeSource source(p.graph, 1, 1);
  Tensor wrong = numbers({8, 16}, 1);
  wrong.data<float>()[3] = std::nanf("");
  source.record(Rank(0), Iteration(0), y, numbers({8, 16}, 1));
  source.record(Rank(0), Iteration(0), metric, wrong);
  if (loss) source.record(Rank(0), Iteration(0), mean, numbers({}, 0, *loss));
  return said(source, condition, severity);
}

}  // namespace

TEST_CASE("NaN beside the loss that gets to no gradient or weight is a hint") {
  CHECK(
      contains(ofMetric(1, Severity::kHint, "nonfinite_propagation"), "gets to no loss, gradient or weight"));
  CHECK(ofMetric(1, Severity::kFault, "nonfinite_propagation").empty());
  CHECK(ofMetric(1, Severity::kFault, "tensor_overflow").empty());
  for (const std::optional<double> loss : {std::optional<double>(), std::optional(std::nan(""))}) {
    CHECK_FALSE(ofMetric(loss, Severity::kFault, "nonfinite_propagation").empty());
    CHECK_FALSE(ofMetric(loss, Severity::kFault, "tensor_overflow").empty());
  }
}

namespace {

// Data whose size is multiplied by `factor` every six iterations, or now and then; the loss follows, or
// falls.
std::string ofScale(double factor, bool harms, TensorRole role = TensorRole::kInput, bool regular = true) {
  Program p;
  const TensorId data = p.source(role, "batch/0", {8, 16}),
                 a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 y = p.layer("Net/a", data, a),
                 loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
  FakeSource source(p.graph, 1, 24);
  for (int k = 0; k < 24; ++k) {
    const int level = regular ? k / 6 : (k >= 4) + (k >= 17);
    const double size = std::pow(factor, level) * (1 + 0.05 * (k % 3));
    source.record(Rank(0), Iteration(k), data, numbers({8, 16}, size));
    source.record(Rank(0), Iteration(k), loss, numbers({}, 0, harms ? size : 3.0 / (1 + k)));
  }
  return said(source, "batch_content", Severity::kFault);
}

}  // namespace

TEST_CASE("batch_content tells data that are normalised again in each epoch") {
  CHECK(contains(ofScale(3.2, true), "the data change their scale again and again"));
  CHECK(contains(ofScale(3.2, true), "from iteration 6 on"));
  CHECK(contains(ofScale(3.2, true, TensorRole::kConstant), "again and again"));
  CHECK_FALSE(contains(ofScale(3.2, false), "again and again"));  // what was meant, or did no harm
  CHECK_FALSE(contains(ofScale(1.0, true), "again and again"));
  CHECK_FALSE(
      contains(ofScale(3.2, true, TensorRole::kInput, false), "again and again"));  // an agent's world
}

TEST_CASE("clipping_too_tight knows gradients that a GradScaler's factor is still in") {
  CHECK(contains(ofClipping(1.0 / 16384, 16384), "a GradScaler has multiplied it by 16384"));
  CHECK(ofClipping(0.5, 16384).empty());      // unscaled before
  CHECK(ofClipping(1.0 / 16384, 0).empty());  // Adam takes the same steps
  CHECK(ofClipping(1e-3, 1).empty());         // the scaler is off, or has found its way down
}

}  // namespace msdbg::test
