// What another stranger's programs of PyTorch were told wrongly, or not at all.
#include <catch2/catch.hpp>

#include "tests/watchpoints/torch_program.h"
#include "watchpoints/conditions/bootstrap.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::test {

using namespace core;
using namespace torch_program;
using watch::Severity;

namespace {

TensorInfo classes(TensorRole role, std::string name = "") {
  TensorInfo info = floats(role, std::move(name), {32});
  info.dtype = DType::Int64;
  return info;
}

// The classes of a cross-entropy, computed of the batch or of nothing; one and the same, or not.
std::string ofClasses(bool fromBatch, bool constant) {
  Program p;
  const TensorId tokens = p.graph.addSource(classes(TensorRole::kInput, "batch/0"));
  const TensorId made =
      fromBatch ? p.node("index", "main", Phase::kForward, {tokens}, classes(TensorRole::kActivation))
                : p.node("zeros", "main", Phase::kForward, {}, classes(TensorRole::kActivation));
  p.node("nll_loss_forward", "main", Phase::kForward, {p.x, made}, floats(TensorRole::kLoss, "", {}));
  FakeSource source(p.graph, 1, 4);
  for (int i = 0; i < 4; ++i) {
    Tensor values(DType::Int64, {32});
    std::int64_t next = 0;
    for (std::int64_t& each : values.data<std::int64_t>()) each = constant ? 12 : next++ % 12;
    source.record(Rank(0), Iteration(i), made, values);
  }
  return said(source, "batch_content", Severity::kFault);
}

// Q(s) is compared with reward + 0.9 * max Q'(s'), or that times 1 - done; or with data alone.
std::optional<watch::Bootstrap> bootstrapOf(bool masked, bool ofData = false) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16});
  const TensorId copy = p.source(TensorRole::kParameter, "Net-2/a/weight", {16, 16});
  const auto given = [&](const char* name) { return p.source(TensorRole::kConstant, name, {8, 16}); };
  const auto op = [&](const char* type, std::vector<TensorId> inputs, Attributes attributes = {}) {
    return p.node(type, "main/no_grad", Phase::kForward, std::move(inputs),
                  floats(TensorRole::kActivation, "", {8, 16}), {}, "aten", std::move(attributes));
  };
  const TensorId q = p.layer("Net/a", p.x, w);
  TensorId next = ofData ? given("next") : op("max", {p.layer("Net-2/a", given("s2"), copy)});
  next = op("mul", {next}, {{"other", 0.9}});
  if (masked) next = op("mul", {next, op("rsub", {given("done")}, {{"other", 1.0}})});
  const TensorId target = op("add", {given("reward"), next});
  const TensorId loss =
      p.node("smooth_l1_loss", "main", Phase::kForward, {q, target}, floats(TensorRole::kLoss, "", {}));
  p.gradient("Net/a", q, w, loss);
  return watch::bootstrappedTarget(watch::inOurTerms(p.graph));
}

std::string adviceFor(const std::string& text) {
  Program p;
  FakeSource source(p.graph, 1, 1);
  source.fail({Rank(0), Iteration(0), {}, text});
  return std::string(check(source, {watch::parseWatchpoint("run_failed").value()}, {}).first->whatNext());
}

// A loss of sigmoid(x @ w), or of whether that is above a half; and an optimizer that steps.
std::string ofLossBy(const char* type) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  TensorId y = p.layer("Net/a", p.x, w);
  y = p.node(type, "Loss", Phase::kForward, {y}, floats(TensorRole::kActivation, "", {8, 16}));
  const TensorId loss = p.node("mean", "Loss", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
  FakeSource source(p.graph, 1, 3);
  for (int i = 0; i < 3; ++i)
    for (const TensorId id : {rate, loss}) source.record(Rank(0), Iteration(i), id, numbers({}, 0.1));
  return said(source, "no_gradient", Severity::kFault);
}

// y log(p) + (1 - y) log(1 - p) of a sigmoid, or with log(p) twice; clamped or + 1e-7; with its minus, or
// not.
std::string ofEntropy(bool same, bool clamped, bool minus) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 y = p.source(TensorRole::kLabel, "batch/1", {8, 16});
  const auto op = [&](const char* type, std::vector<TensorId> inputs, Attributes attributes = {}) {
    return p.node(type, "Loss", Phase::kForward, std::move(inputs),
                  floats(TensorRole::kActivation, "", {8, 16}), {}, "aten", std::move(attributes));
  };
  const auto rest = [&](TensorId of) { return op("rsub", {of}, {{"other", std::int64_t{1}}}); };
  const auto logOf = [&](TensorId of) {
    return op("log", {clamped ? op("clamp", {of}, {{"min", 1e-7}}) : op("add", {of}, {{"other", 1e-7}})});
  };
  const TensorId q = p.layer("Net/a", p.x, w), sigmoid = op("sigmoid", {q});
  const TensorId yes = op("mul", {y, logOf(sigmoid)}),
                 no = op("mul", {rest(y), logOf(same ? sigmoid : rest(sigmoid))});
  TensorId sum = op("add", {yes, no});
  if (minus) sum = op("neg", {sum});
  const TensorId loss = p.node("mean", "Loss", Phase::kForward, {sum}, floats(TensorRole::kLoss, "", {}));
  const TensorId rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  p.update("Net/a", w, p.gradient("Net/a", q, w, loss), rate);
  FakeSource source(p.graph, 1, 3);
  for (int i = 0; i < 3; ++i)
    for (const TensorId id : {rate, loss}) source.record(Rank(0), Iteration(i), id, numbers({}, 0.1));
  return said(source, "loss_input", Severity::kFault);
}

// A loss of which no operator is recorded, and what autograd knew of it.
std::string ofWhole(Attributes known, Severity severity = Severity::kFault) {
  Program p;
  const TensorId loss = p.node("forward", "Net", Phase::kForward, {}, floats(TensorRole::kLoss, "", {}), {},
                               "torch", std::move(known));
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), loss, numbers({}, 0, 1));
  return said(source, "loss_input", severity);
}

std::string ofName(const char* type) {
  Program p;
  p.node(type, "main", Phase::kForward, {}, floats(TensorRole::kActivation, "", {}), {}, "torch",
         {{"of", std::string("Net/backbone")}, {"name", std::string("requires_grad")}});
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), p.graph.nodes().back().outputs[0], numbers({}, 1));
  return said(source, "no_gradient", Severity::kFault);
}

}  // namespace

TEST_CASE("batch_content looks at classes that the program computes of its batch") {
  CHECK(contains(ofClasses(true, true), "all labels are equal: every one is 12"));
  CHECK(ofClasses(true, false).empty());
  CHECK(ofClasses(false, true).empty());  // the first of all pairs is the right one
}

TEST_CASE("a target that is made of what comes next is known, and whether the end of an episode ends it") {
  REQUIRE(bootstrapOf(false));
  CHECK_FALSE(bootstrapOf(false)->masked);
  REQUIRE(bootstrapOf(true));
  CHECK(bootstrapOf(true)->masked);
  CHECK_FALSE(bootstrapOf(false, true));
}

TEST_CASE("loss_input reads a binary cross-entropy that was written by hand") {
  for (const bool clamped : {false, true}) {
    CHECK(contains(ofEntropy(false, clamped, false), "the log-likelihood of the answers itself"));
    CHECK(contains(ofEntropy(true, clamped, true), "both multiplied with log(p)"));
    CHECK(ofEntropy(false, clamped, true).empty());
  }
}

TEST_CASE("loss_input tells of a loss whose operators are not recorded what autograd knew of it") {
  using Text = std::string;
  CHECK(contains(ofWhole({{"softmax_of", Text("Softmax")}}), "softmax is applied twice"));
  CHECK(contains(ofWhole({{"softmax_of", Text("LogSoftmax")}}, Severity::kHint), "twice it is only slower"));
  CHECK(contains(ofWhole({{"sigmoid_of", Text("Sigmoid")}}), "sigmoid is applied twice"));
  CHECK(contains(ofWhole({{"broadcast", Text("column")}}), "a prediction [n, 1] with a target [n]"));
  CHECK(contains(ofWhole({{"broadcast", Text("row")}}), "a prediction [n] with a target [n, 1]"));
  CHECK(contains(ofWhole({{"broadcast_by_hand", Text("column")}}, Severity::kHint), "broadcast to [n, n]"));
  CHECK(ofWhole({{"broadcast_by_hand", Text("column")}}).empty());
  for (const char* unknown : {"softmax_of", "sigmoid_of", "broadcast"})
    CHECK(ofWhole({{unknown, Text("Erf")}}).empty());
  CHECK(ofWhole({{"broadcast", true}, {"softmax_of", 1.5}}).empty());
}

TEST_CASE("What PyTorch's recorder marks of an optimizer is told in place of what follows from it") {
  const auto ofMark = [](const char* condition, const char* kind, Attributes attributes) {
    Program p;
    const TensorId rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
    p.source(TensorRole::kParameter, "Net/head/weight", {16, 16});
    const TensorId loss =
        p.node("forward", "Net", Phase::kForward, {p.x}, floats(TensorRole::kLoss, "", {}), {}, "torch");
    const TensorId mark = p.node(kind, "main", Phase::kUpdate, {}, floats(TensorRole::kActivation, "", {}),
                                 {}, "torch", std::move(attributes));
    FakeSource source(p.graph, 1, 3);
    for (int k = 0; k < 3; ++k)
      for (const TensorId id : {rate, loss, mark})
        source.record(Rank(0), Iteration(k), id, numbers({}, 0, 1));
    return said(source, condition, Severity::kFault) + said(source, condition, Severity::kHint);
  };
  const Attributes one{{"passes", std::int64_t{1}}}, three{{"passes", std::int64_t{3}}};
  CHECK(contains(ofMark("gradients_dropped", "dropped_gradients", one), "before step() reads them"));
  CHECK(contains(ofMark("gradients_dropped", "dropped_gradients", three), "after 3 backward passes"));
  CHECK(ofMark("no_gradient", "dropped_gradients", one).empty());
  CHECK(contains(ofMark("no_gradient", "other", {}), "no parameter gets a gradient from the loss"));
  const std::string replaced = ofMark("no_gradient", "replaced_parameters",
                                      {{"name", std::string("Net/head/weight")}, {"count", std::int64_t{2}}});
  CHECK(
      contains(replaced, "Net/head/weight and 1 more parameter, and the model was then given another layer"));
  CHECK_FALSE(contains(replaced, "finds no gradient"));
  CHECK(contains(ofMark("no_gradient", "steps_in_vain",
                        {{"name", std::string("Net/head/weight")}, {"count", std::int64_t{1}}}),
                 "finds no gradient of all that it has, Net/head/weight: no loss"));
}

TEST_CASE("normalization_of_one says nothing of a batch of one row in evaluation") {
  const auto ofBatchNorm = [](bool training) {
    Program p;
    const TensorId x = p.source(TensorRole::kInput, "row", {1, 16});
    const auto given = [&](const char* name) { return p.source(TensorRole::kConstant, name, {16}); };
    p.node("native_batch_norm", "Net", Phase::kForward,
           {x, given("scale"), given("bias"), given("mean"), given("var")},
           floats(TensorRole::kActivation, "", {1, 16}), {}, "aten", {{"training", training}, {"eps", 1e-5}});
    FakeSource source(p.graph, 1, 1);
    source.record(Rank(0), Iteration(0), x, numbers({1, 16}, 1));
    return said(source, "normalization_of_one", Severity::kFault);
  };
  CHECK(contains(ofBatchNorm(true), "its batch is a single row"));
  CHECK(ofBatchNorm(false).empty());
}

TEST_CASE("run_failed knows what is behind the words of PyTorch") {
  CHECK(
      contains(adviceFor("RuntimeError: Trying to backward through the graph a second time"), "detach what"));
  CHECK(contains(adviceFor("IndexError: index out of range in self (a.py:26)"), "do the ids begin at 1"));
  CHECK_FALSE(
      contains(adviceFor("Gather: index out of range in self"), "nn.Embedding"));  // another program's
  CHECK(contains(adviceFor("ValueError: no such thing"), "The detail says what happened"));
}

TEST_CASE("no_gradient names the step function where an optimizer finds no gradient") {
  CHECK(contains(ofLossBy("gt"), "Loss/gt-op1 computes a step function, which has no gradient"));
  CHECK_FALSE(contains(ofLossBy("sigmoid"), "step function"));
}

TEST_CASE("no_gradient takes the recorder's word for what was to be frozen by an attribute of another name") {
  CHECK(contains(ofName("frozen_in_name"), "Net/backbone was given an attribute requires_grad"));
  CHECK(ofName("frozen").empty());
}

}  // namespace msdbg::test
