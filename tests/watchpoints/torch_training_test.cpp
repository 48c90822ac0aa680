// Mistakes in how PyTorch programs train: losses, rates, gradients that are kept, parameters that are not.
// Each is named, and the healthy program that looks like it is not.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/watchpoints/torch_program.h"

namespace msdbg::test {

using namespace core;
using namespace torch_program;
using watch::Severity;

namespace {

Attributes along(std::int64_t axis) { return {{"dim", axis}, {"half_to_float", false}}; }

// logits [4, 5, 8, 8] -> log_softmax -> nll_loss2d, as the recorder tells of axes.
std::string ofPixels(bool elsewhere) {
  Program p;
  const TensorId logits = p.source(TensorRole::kParameter, "Net/logits", {4, 5, 8, 8});
  TensorInfo labels = floats(TensorRole::kLabel, "label", {4, 8, 8});
  labels.dtype = DType::Int64;
  const TensorId label = p.graph.addSource(labels);
  const TensorId logp =
      p.node("_log_softmax", "main", Phase::kForward, {logits},
             floats(TensorRole::kActivation, "", {4, 5, 8, 8}), {}, "aten", along(elsewhere ? -1 : 1));
  Attributes facts;
  if (elsewhere) facts["normalised_elsewhere"] = true;
  p.node("nll_loss2d_forward", "main", Phase::kForward, {logp, label}, floats(TensorRole::kLoss, "", {}), {},
         "aten", facts);
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), logits, numbers({4, 5, 8, 8}, 1));
  return said(source, "softmax_axis", Severity::kFault);
}

// kl_div(student, target) as PyTorch computes it.
std::string ofDivergence(const char* student, bool ofLogTarget) {
  Program p;
  const auto forward = [&](const char* type, std::vector<TensorId> inputs, Attributes attributes = {}) {
    return p.node(type, "main", Phase::kForward, std::move(inputs),
                  floats(TensorRole::kActivation, "", {8, 6}), {}, "aten", std::move(attributes));
  };
  const TensorId logits = p.source(TensorRole::kParameter, "Net/logits", {8, 6}),
                 target = p.source(TensorRole::kConstant, "target", {8, 6});
  const TensorId input = forward(student, {logits}, along(-1));
  if (ofLogTarget)
    forward("mul", {forward("exp", {target}), forward("sub", {target, input})});
  else
    forward("sub", {forward("xlogy", {target, target}), forward("mul", {target, input})});
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), logits, numbers({8, 6}, 1));
  return said(source, "loss_input", Severity::kFault);
}

}  // namespace

TEST_CASE("softmax_axis knows the classes of a loss, whatever its axes") {
  CHECK(contains(ofPixels(true), "runs along axis 3 of [4, 5, 8, 8], which is not that of the classes"));
  CHECK(ofPixels(false).empty());
}

TEST_CASE("loss_input names probabilities that kl_div takes for their logarithms") {
  for (const bool ofLogTarget : {false, true}) {
    CHECK(contains(ofDivergence("_softmax", ofLogTarget), "where kl_div takes their logarithms"));
    CHECK(ofDivergence("_log_softmax", ofLogTarget).empty());
  }
}

namespace {

enum class Gate { kMade, kKept, kFromData, kNotMarked };

// A layer reads a Parameter that was drawn just before.
std::string ofGate(Gate gate) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16});
  const std::vector<FrameId> frames = {p.graph.addFrame({"/train.py", 3, "forward", "gate = …", false})};
  const NodeId drawn =
      p.graph.addNode(gate == Gate::kFromData ? "mul" : "randn", "Net", Phase::kForward,
                      gate == Gate::kFromData ? std::vector<TensorId>{p.x} : std::vector<TensorId>{}, {},
                      {floats(TensorRole::kActivation, "", {16, 16})}, frames, {}, "aten");
  const TensorId made = gate == Gate::kKept ? a : p.graph.node(drawn).outputs[0];
  Attributes facts;
  if (gate != Gate::kNotMarked) facts["new_parameter"] = std::int64_t{1};
  p.node("mm", "Net", Phase::kForward, {p.x, made}, floats(TensorRole::kActivation, "", {8, 16}), {}, "aten",
         facts);
  FakeSource source(p.graph, 1, 3);
  for (int k = 0; k < 3; ++k) source.record(Rank(0), Iteration(k), p.x, numbers({8, 16}, 1));
  return said(source, "no_gradient", Severity::kFault);
}

}  // namespace

TEST_CASE("no_gradient names a Parameter that every forward pass makes anew") {
  CHECK(contains(ofGate(Gate::kMade), "is made anew in every iteration"));
  CHECK(ofGate(Gate::kKept).empty());      // a lazy layer: the first iteration made what the others read
  CHECK(ofGate(Gate::kFromData).empty());  // what is optimized for one sample
  CHECK(ofGate(Gate::kNotMarked).empty());
}

namespace {

// A layer with one update, at this rate in each iteration, and these rows of a sparse gradient.
FakeSource scheduled(const std::vector<double>& rates, const std::vector<std::int64_t>& rows = {}) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  const TensorId y = p.layer("Net/a", p.x, a);
  const TensorId loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
  TensorInfo info = floats(TensorRole::kGradient, "", {rows.empty() ? 16 : -1, 16});
  info.gradientOf = a;
  const TensorId gradient =
      p.node("mm", "grad/Net/a", Phase::kBackward, {loss}, info, p.graph.tensor(y).producer);
  const TensorId next = p.update("Net/a", a, gradient, rate);
  const std::size_t steps = std::max(rates.size(), rows.size());
  FakeSource source(p.graph, 1, static_cast<int>(steps));
  for (std::size_t k = 0; k < steps; ++k) {
    const Iteration at(static_cast<std::int64_t>(k));
    source.record(Rank(0), at, next, numbers({16, 16}, 1));
    if (k < rates.size()) {
      Tensor value(DType::Float64, {});
      value.data<double>()[0] = rates[k];
      source.record(Rank(0), at, rate, value);
    }
    if (k < rows.size()) source.record(Rank(0), at, gradient, numbers({rows[k], 16}, 1));
  }
  return source;
}

std::string ofRates(int steps, double (*rate)(int)) {
  std::vector<double> rates;
  for (int i = 0; i < steps; ++i) rates.push_back(rate(i));
  FakeSource source = scheduled(rates);
  return said(source, "hyperparameter_range", Severity::kHint);
}

double cosine(int i, int period) { return 0.05 * (1 + std::cos(M_PI * i / period)); }

std::string ofRows(const std::vector<std::int64_t>& rows) {
  FakeSource source = scheduled({}, rows);
  return said(source, "weight_change_too_large", Severity::kFault);
}

}  // namespace

TEST_CASE("hyperparameter_range hints at a cosine that was stepped past its end") {
  CHECK(contains(ofRates(24, [](int i) { return cosine(i, 12); }),
                 "the learning rate fell from 0.1 to 0 and climbs again"));
  CHECK(ofRates(24, [](int i) { return cosine(i, 24); }).empty());       // as long as the training
  CHECK(ofRates(40, [](int i) { return cosine(i % 13, 12); }).empty());  // warm restarts
  CHECK(ofRates(40, [](int i) { return i < 5 ? 0.02 * i : cosine(i - 5, 40); }).empty());  // warm-up
  CHECK(
      ofRates(40, [](int i) { return 0.01 + 0.09 * std::abs((i + 10) % 20 - 10) / 10; }).empty());  // cycles
  CHECK(ofRates(40, [](int) { return 0.1; }).empty());
}

TEST_CASE("weight_change_too_large knows a sparse gradient that keeps the rows of all steps") {
  CHECK(contains(ofRows({8, 16, 24, 32, 40, 48, 56, 64, 72, 80}),
                 "grown in each of the last 8 steps, from 256 elements to 1280"));
  CHECK(ofRows({8, 9, 8, 7, 9, 10, 8, 9, 7, 8, 9, 8}).empty());       // what each batch looks up
  CHECK(ofRows({8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}).empty());  // batches sorted by length
}

namespace {

// Losses that go nowhere, of one optimizer or of two that each have one; `sampled`: of actions that were
// drawn.
std::string ofLosses(bool rivals, bool sampled = false) {
  Program p;
  std::vector<TensorId> losses, weights;
  for (const char* net : {"D", "G"}) {
    const TensorId weight = p.source(TensorRole::kParameter, std::string(net) + "/weight", {16, 16}),
                   rate = p.source(TensorRole::kHyperparameter,
                                   rivals && *net == 'G' ? "optimizer1/learning_rate"
                                                         : "optimizer/learning_rate/" + std::string(net),
                                   {});
    TensorId y = p.layer(net, p.x, weight);
    if (sampled)
      y = p.node("multinomial", net, Phase::kForward, {y}, floats(TensorRole::kActivation, "", {8, 16}));
    losses.push_back(p.node("mean", net, Phase::kForward, {y}, floats(TensorRole::kLoss, "", {})));
    p.update(net, weight, p.gradient(net, y, weight, losses.back()), rate);
  }
  FakeSource source(p.graph, 1, 60);
  for (int k = 0; k < 60; ++k)
    for (const TensorId loss : losses) source.record(Rank(0), Iteration(k), loss, numbers({}, 1, 2 + k % 3));
  return said(source, "loss_not_decreasing", Severity::kHint);
}

}  // namespace

TEST_CASE("loss_not_decreasing says nothing of a hinge that is met, after a few of all iterations") {
  Program p;
  const TensorId weight = p.source(TensorRole::kParameter, "Net/weight", {16, 16}),
                 y = p.layer("Net", p.x, weight),
                 loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
  const auto ending = [&](double last) {
    FakeSource source(p.graph, 1, 60);
    for (int k = 0; k < 60; ++k)
      source.record(Rank(0), Iteration(k), loss, numbers({}, 0, k == 4 ? 0.01 : last));
    return said(source, "loss_not_decreasing", Severity::kHint);
  };
  CHECK(ending(0).empty());
  CHECK_FALSE(ending(0.001).empty());
}

TEST_CASE("loss_not_decreasing says nothing of losses that work against each other") {
  CHECK(contains(ofLosses(false), "over the first 15 iterations"));
  CHECK(ofLosses(true).empty());
  CHECK(ofLosses(false, true).empty());
}

namespace {

// softmax of what a convolution gives, along this axis.
std::string ofMask(std::int64_t axis, const char* before) {
  Program p;
  const TensorId image = p.source(TensorRole::kInput, "image", {4, 3, 8, 8}),
                 weight = p.source(TensorRole::kParameter, "Net/weight", {3, 3, 1, 1});
  const TensorId y = p.node(before, "Net", Phase::kForward, {image, weight},
                            floats(TensorRole::kActivation, "", {4, 3, 8, 8}));
  p.node("_softmax", "main", Phase::kForward, {y}, floats(TensorRole::kActivation, "", {4, 3, 8, 8}), {},
         "aten", along(axis));
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), image, numbers({4, 3, 8, 8}, 1));
  return said(source, "softmax_axis", Severity::kFault);
}

// z + (q - z), and the backward pass of the difference, unless that is detached.
std::string ofStraightThrough(bool detached) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/w", {8, 16}),
                 q = p.source(TensorRole::kConstant, "codes", {8, 16});
  const auto forward = [&](const char* type, std::vector<TensorId> inputs) {
    return p.node(type, "Net", Phase::kForward, std::move(inputs),
                  floats(TensorRole::kActivation, "", {8, 16}));
  };
  const TensorId z = forward("mul", {p.x, w}), difference = forward("sub", {q, z}),
                 sum = forward("add", {z, difference});
  p.node("neg", "grad/Net/SubBackward0", Phase::kBackward, {sum}, floats(TensorRole::kGradient, "", {8, 16}),
         p.graph.tensor(detached ? z : difference).producer);
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), p.x, numbers({8, 16}, 1));
  return said(source, "loss_input", Severity::kFault);
}

// returns [8], from the network itself under no_grad(), or with its gradient, minus values [8, 1].
// `varies`: what the recorder knows of the shape of the values, which are returns in other iterations.
std::string ofReturns(bool withGradient, Shape returns, bool varies = false) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/w", {16, 1});
  const auto value = [&](const char* scope, Shape shape) {
    return p.node("mm", scope, Phase::kForward, {p.x, w}, floats(TensorRole::kActivation, "", shape));
  };
  const TensorId later = value("Net#2", returns), now = value("Net", varies ? Shape{-1} : Shape{8, 1});
  const TensorId target =
      p.node("mul", "main", Phase::kForward, {later}, floats(TensorRole::kActivation, "", returns));
  p.node("sub", "main", Phase::kForward, {target, now},
         floats(TensorRole::kActivation, "", returns == Shape{8} ? Shape{8, 8} : Shape{8, 1}));
  const auto differentiate = [&](TensorId of) {
    p.node("mm", "grad/Net", Phase::kBackward, {of}, floats(TensorRole::kGradient, "", {16, 1}),
           p.graph.tensor(of).producer);
  };
  differentiate(now);
  if (withGradient) differentiate(later), differentiate(target);
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), p.x, numbers({8, 16}, 1));
  source.record(Rank(0), Iteration(0), now, numbers({8, 1}, 1));
  return said(source, "loss_input", Severity::kFault);
}

// An optimizer has the body, none has the two numbers that weigh the losses.
std::string ofLossWeights(double value, Severity severity) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 weights = p.source(TensorRole::kParameter, "Weighting/log_var", {2}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  const TensorId y = p.layer("Net/a", p.x, a), scale = p.node("exp", "Weighting", Phase::kForward, {weights},
                                                              floats(TensorRole::kActivation, "", {2}));
  const TensorId loss =
      p.node("mean", "main", Phase::kForward, {y, scale}, floats(TensorRole::kLoss, "", {}));
  p.update("Net/a", a, p.gradient("Net/a", y, a, loss), rate);
  p.node("mul", "grad/Weighting", Phase::kBackward, {loss}, floats(TensorRole::kGradient, "", {2}),
         p.graph.tensor(scale).producer);
  FakeSource source(p.graph, 1, 2);
  Tensor numbersOfTwo = Tensor::zeros(DType::Float32, {2});
  numbersOfTwo.data<float>()[1] = static_cast<float>(value);
  for (int k = 0; k < 2; ++k) source.record(Rank(0), Iteration(k), weights, numbersOfTwo);
  return said(source, "no_gradient", severity);
}

}  // namespace

TEST_CASE("softmax_axis names a softmax along the side of a picture") {
  CHECK(contains(ofMask(-1, "convolution"), "runs along axis 3 of [4, 3, 8, 8], the columns of a picture"));
  CHECK(contains(ofMask(2, "convolution"), "the rows of a picture"));
  CHECK(ofMask(1, "convolution").empty());
  CHECK(ofMask(-1, "bmm").empty());  // an attention
}

TEST_CASE("loss_input names a straight-through estimator that is not detached") {
  CHECK(contains(ofStraightThrough(false), "it cancels, in the value and in its gradient"));
  CHECK(ofStraightThrough(true).empty());
}

TEST_CASE("loss_input knows a target that the network itself gives, under no_grad()") {
  CHECK(contains(ofReturns(false, {8}), "are broadcast to [8, 8]"));
  CHECK(contains(ofReturns(false, {8}, true), "[8, 1] and main/mul-op1:0 [8] are broadcast to [8, 8]"));
  CHECK(ofReturns(false, {8, 1}).empty());
  CHECK(ofReturns(true, {8}).empty());  // two predictions: who knows what is meant
}

TEST_CASE("no_gradient is sure of parameters that are as constant as they began, and of no optimizer") {
  CHECK(contains(ofLossWeights(0, Severity::kFault), "Weighting/log_var gets a gradient, but no optimizer"));
  CHECK(ofLossWeights(0.5, Severity::kFault).empty());  // trained before, perhaps
  CHECK(contains(ofLossWeights(0.5, Severity::kHint), "Weighting/log_var gets a gradient"));
}

namespace {

// F.cross_entropy of cosines times a number, each sample's own masked, as PyTorch computes it.
std::string ofCosines(double factor, bool normalised) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/w", {16, 32});
  const auto forward = [&](const char* type, std::vector<TensorId> inputs, Shape shape,
                           Attributes attributes = {}) {
    return p.node(type, "main", Phase::kForward, std::move(inputs),
                  floats(TensorRole::kActivation, "", std::move(shape)), {}, "aten", std::move(attributes));
  };
  TensorId z = forward("mm", {p.x, w}, {8, 32});
  if (normalised) {
    const TensorId norm = forward("linalg_vector_norm", {z}, {8, 1});
    z = forward("div", {z, forward("clamp_min", {norm}, {8, 1}, {{"min", 1e-12}})}, {8, 32});
  }
  const TensorId scaled = forward("mul", {forward("mm", {z, z}, {8, 8})}, {8, 8}, {{"other", factor}});
  const TensorId logits = forward("masked_fill", {scaled}, {8, 8}, {{"value", -INFINITY}});
  forward("_log_softmax", {logits}, {8, 8}, along(1));
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), p.x, numbers({8, 16}, 1));
  return said(source, "bounded_logits", Severity::kFault);
}

}  // namespace

TEST_CASE("bounded_logits knows the cosines of F.normalize and a temperature that is multiplied by") {
  CHECK(contains(ofCosines(0.2, true), "between -0.2 and 0.2"));
  CHECK(ofCosines(5, true).empty());
  CHECK(ofCosines(0.2, false).empty());  // products of any size
}

TEST_CASE("tensor_all_zero takes a weight that the program sets to zero for what was meant") {
  const auto ofSetting = [](const char* type, Severity severity) {
    Program p;
    const TensorId a = p.source(TensorRole::kParameter, "Net/a/bias", {16});
    TensorInfo info = floats(TensorRole::kUpdated, "", {16});
    info.updateOf = a;
    const TensorId set = p.node(type, "main", Phase::kForward, {a}, info);
    FakeSource source(p.graph, 1, 2);
    for (int k = 0; k < 2; ++k) {
      source.record(Rank(0), Iteration(k), a, numbers({16}, 1));
      source.record(Rank(0), Iteration(k), set, Tensor::zeros(DType::Float32, {16}));
    }
    return said(source, "tensor_all_zero", severity);
  };
  CHECK(ofSetting("zero_", Severity::kFault).empty());
  CHECK_FALSE(ofSetting("zero_", Severity::kHint).empty());
  CHECK_FALSE(ofSetting("mul_", Severity::kFault).empty());
}

}  // namespace msdbg::test
