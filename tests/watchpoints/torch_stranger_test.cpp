// What a stranger's programs of PyTorch did wrong in silence, and how check fell over one of them.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/watchpoints/torch_program.h"
#include "watchpoints/conditions/loss_sum.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::test {

using namespace core;
using namespace torch_program;
using watch::Severity;

namespace {

// Net/a, a Function of the program, Net/b and a loss: whose backward() uses the gradient that it is given, or
// not.
std::string ofFunction(bool uses, const char* function = "SwishFnBackward") {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 b = p.source(TensorRole::kParameter, "Net/b/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  const auto forward = [&](const char* type, const char* scope, std::vector<TensorId> inputs) {
    return p.node(type, scope, Phase::kForward, std::move(inputs),
                  floats(TensorRole::kActivation, "", {8, 16}));
  };
  const TensorId h = p.layer("Net/a", p.x, a), s = forward("sigmoid", "Net/act", {h}),
                 y = p.layer("Net/b", s, b);
  const TensorId loss =
      p.node("mse_loss", "main", Phase::kForward, {y, p.x}, floats(TensorRole::kLoss, "", {}));
  const auto backward = [&](const char* type, const std::string& scope, std::vector<TensorId> inputs) {
    return p.node(type, scope, Phase::kBackward, std::move(inputs),
                  floats(TensorRole::kGradient, "", {8, 16}));
  };
  const TensorId seed = backward("ones_like", "grad/main", {loss}),
                 dy = backward("mse_loss_backward", "grad/main", {seed, y});
  const TensorId ds = backward("mm", "grad/Net/b/MmBackward0", {dy, b});
  const std::string own = std::string("grad/Net/act/") + function;
  TensorId dh = backward("mul", own, {h, s});
  dh = uses ? backward("mul", own, {dh, ds}) : backward("add", own, {dh, s});
  p.update("Net/b", b, p.gradient("Net/b", y, b, dy), rate);
  p.update("Net/a", a, p.gradient("Net/a", h, a, dh), rate);
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), a, numbers({16, 16}, 0.25));
  return said(source, "no_gradient", Severity::kFault);
}

// tanh of what is computed beside a model, of tensors that the program drew itself: labels.
std::string ofLabels(bool learnt) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16});
  const auto drawn = [&] {
    return p.node("randn", "main", Phase::kForward, {}, floats(TensorRole::kActivation, "", {8, 16}));
  };
  const TensorId x = drawn(), other = drawn();
  const TensorId scores = p.node("mm", "main", Phase::kForward, {x, learnt ? w : other},
                                 floats(TensorRole::kActivation, "", {8, 16}));
  const TensorId flags =
      p.node("tanh", "main", Phase::kForward, {scores}, floats(TensorRole::kActivation, "", {8, 16}));
  const TensorId y = p.layer("Net/a", x, w);
  p.node("mse_loss", "main", Phase::kForward, {y, flags}, floats(TensorRole::kLoss, "", {}));
  FakeSource source(p.graph, 1, 1);
  for (const TensorId id : {x, other, scores, y})
    source.record(Rank(0), Iteration(0), id, numbers({8, 16}, 50));
  Tensor ends(DType::Float32, {8, 16});
  float sign = 1;
  for (float& each : ends.data<float>()) each = sign = -sign;
  source.record(Rank(0), Iteration(0), flags, ends);
  source.record(Rank(0), Iteration(0), w, numbers({16, 16}, 0.25));
  return said(source, "saturated_start", Severity::kFault) + said(source, "saturated_start", Severity::kHint);
}

// Two frozen layers before a trained one; of this size, and `shift` away from 0.
std::string ofBackbone(double size, double shift = 0, bool trained = true) {
  Program p;
  const auto weight = [&](const char* name, bool trains) {
    TensorInfo info = floats(TensorRole::kParameter, name, {16, 16});
    info.trainable = trains;
    return p.graph.addSource(info);
  };
  const TensorId a = weight("Net/backbone/0/weight", false), b = weight("Net/backbone/2/weight", false),
                 head = weight("Net/head/weight", trained),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  const TensorId h = p.layer("Net/backbone/0", p.x, a),
                 y = p.layer("Net/head", p.layer("Net/backbone/2", h, b), head);
  const TensorId loss =
      p.node("mse_loss", "main", Phase::kForward, {y, p.x}, floats(TensorRole::kLoss, "", {}));
  if (trained) p.update("Net/head", head, p.gradient("Net/head", y, head, loss), rate);
  FakeSource source(p.graph, 1, 1);
  for (const TensorId id : {a, b}) source.record(Rank(0), Iteration(0), id, numbers({16, 16}, size, shift));
  source.record(Rank(0), Iteration(0), head, numbers({16, 16}, 0.2));
  return said(source, "frozen_at_random", Severity::kHint);
}

// At level train iteration 0 is the data and one layer; iteration 1, which was recorded deeper, what makes
// the data: a power of a sum that is 0, or nothing of the kind.
std::string ofData(bool deeper, bool givenThere = false) {
  Program train, ops;
  const auto layerOf = [](Program& p, TensorId x) {
    const TensorId w = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16});
    p.node("mse_loss", "main", Phase::kForward, {p.layer("Net/a", x, w), p.x},
           floats(TensorRole::kLoss, "", {}));
  };
  const TensorId data = train.source(TensorRole::kInput, "Net/A", {8, 16});
  layerOf(train, data);
  const TensorId sum =
      ops.node("sum", "main", Phase::kForward, {ops.x}, floats(TensorRole::kActivation, "", {8, 16}));
  const TensorId pow =
      ops.node("pow", "main", Phase::kForward, {sum}, floats(TensorRole::kActivation, "", {8, 16}), {},
               "aten", {{"exponent", -0.5}});
  layerOf(ops, givenThere ? ops.source(TensorRole::kInput, "Net/A", {8, 16}) : pow);
  FakeSource source(train.graph, 1, 2);
  source.setGraph(Rank(0), Iteration(1), ops.graph);
  const Tensor fine = numbers({8, 16}, 0.1);
  const auto bad = [&](float value) {
    Tensor tensor = numbers({8, 16}, 0.1);
    tensor.data<float>()[3] = value;
    return tensor;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const int i : {0, 1}) {
    source.record(Rank(0), Iteration(i), source.id("x"), fine);
    source.record(Rank(0), Iteration(i), source.id("Net/a/weight"), numbers({16, 16}, 0.2));
    source.record(Rank(0), Iteration(i), source.id("main/mse_loss-op1"), bad(nan));
  }
  source.record(Rank(0), Iteration(0), source.id("Net/A"), bad(nan));
  if (givenThere) source.record(Rank(0), Iteration(1), source.id("Net/A"), bad(nan));
  if (deeper) {
    source.record(Rank(0), Iteration(1), source.id("main/sum-op1"), bad(0));
    source.record(Rank(0), Iteration(1), source.id("main/pow-op1"), bad(inf));
  }
  return said(source, "nonfinite_propagation", Severity::kFault);
}

// The loss of each part of a batch, on one line; a fraction of it, where it is divided.
std::string ofParts(int parts, bool divided, const char* optimizer = "SGD") {
  Program p;
  const FrameId frame = p.graph.addFrame({"/train.py", 19, "main", "loss.backward()", false});
  const auto add = [&](const char* type, std::vector<TensorId> inputs, TensorRole role,
                       Attributes attributes) {
    const NodeId made = p.graph.addNode(type, "main", Phase::kForward, std::move(inputs),
                                        std::move(attributes), {floats(role, "", {})}, {frame}, {}, "aten");
    return p.graph.node(made).outputs[0];
  };
  for (int i = 0; i < parts; ++i) {
    const TensorId loss =
        add("mse_loss", {p.x, p.x}, divided ? TensorRole::kActivation : TensorRole::kLoss, {});
    if (divided) add("div", {loss}, TensorRole::kLoss, {{"other", 8.0}});
  }
  const TensorId w = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16});
  p.node(optimizer, "update/Net/a", Phase::kUpdate, {w}, floats(TensorRole::kUpdated, "", {16, 16}), {},
         "torch.optim");
  const auto sum = watch::sumOfLoss(watch::inOurTerms(p.graph));
  return sum ? sum->text : "";
}

std::string ofCarriedState(bool carried) {
  Program p;
  const TensorId mark = p.node(carried ? "carried_state" : "recurrent", "Net/lstm", Phase::kForward, {},
                               floats(TensorRole::kActivation, "", {}), {}, "torch");
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), mark, numbers({}, 1));
  return said(source, "loss_input", Severity::kFault);
}

}  // namespace

TEST_CASE("nonfinite_propagation names what makes the data, where a later iteration was recorded deeper") {
  CHECK(
      contains(ofData(true), "iteration 1, which holds the operators, shows what makes them: main/pow-op1"));
  CHECK(contains(ofData(false), "the data hold 1 NaN where they enter the graph"));
  CHECK_FALSE(contains(ofData(false), "shows what makes them"));
  CHECK_FALSE(contains(ofData(true, true), "shows what makes them"));  // given there, too: they are data
}

TEST_CASE("a step that is too large is explained by losses that add up and that nothing divides") {
  CHECK(contains(ofParts(8, false), "the gradients of 8 losses add up before the step"));
  CHECK(ofParts(8, true).empty());
  CHECK(ofParts(2, false).empty());  // of a GAN, of two heads
  CHECK(ofParts(8, false, "Adam").empty());
}

TEST_CASE("loss_input takes the recorder's word for a state that outlives its batch") {
  CHECK(contains(ofCarriedState(true), "Net/lstm begins each batch with the state that it ended the batch"));
  CHECK(ofCarriedState(false).empty());
}

TEST_CASE("no_gradient finds a Function whose backward() does not use the gradient that it is given") {
  CHECK(contains(ofFunction(false), "SwishFnBackward gives back is computed without the gradient"));
  CHECK(ofFunction(true).empty());
  CHECK(ofFunction(false, "SigmoidBackward0").empty());  // torch's own: something was not recorded
}

TEST_CASE("saturated_start goes back as far as tensors that were drawn, and asks of what learns alone") {
  CHECK(contains(ofLabels(true), "is saturated from the first iteration on"));
  CHECK(ofLabels(false).empty());
}

TEST_CASE("frozen_at_random knows how torch draws the weights of a backbone that was never loaded") {
  CHECK(contains(ofBackbone(0.25), "2 weights are frozen, and all of them are spread exactly as"));
  CHECK(ofBackbone(0.4).empty());
  CHECK(ofBackbone(0.15).empty());
  CHECK(ofBackbone(0.25, 0.05).empty());
  CHECK(ofBackbone(0.25, 0, false).empty());
}

}  // namespace msdbg::test
