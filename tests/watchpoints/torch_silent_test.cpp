// Mistakes of PyTorch programs that train on in silence: each is named, and the healthy program that looks
// like it is not.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/watchpoints/torch_program.h"

namespace msdbg::test {

using namespace core;
using namespace torch_program;
using watch::Severity;

namespace {

constexpr std::int64_t kBatch = 2, kHeads = 3, kPlaces = 6, kWidth = 4, kWords = 9;

// An embedding, one attention and a cross-entropy. The recorder folds views: what a product reads has the
// shape of what it is a view of.
struct Attention {
  Attributes masked = {};  // facts of the masked_fill; empty: there is none
  Attributes softmax = {{"dim", std::int64_t{-1}}};
  std::int64_t summed = 1;             // elements between those of the weights that are summed
  bool next = true;                    // labels are the next tokens
  const char* labels = nullptr;        // what else the loss says of them
  bool dropped = false;                // a dropout between softmax and product
  bool biased = false;                 // something is added to the scores
  bool fused = false, causal = false;  // F.scaled_dot_product_attention

  FakeSource source() const {
    Program p;
    TensorInfo words;
    words.name = "Net/tokens", words.shape = {kBatch, kPlaces}, words.dtype = DType::Int64;
    words.role = TensorRole::kInput;
    const TensorId tokens = p.graph.addSource(words),
                   table = p.source(TensorRole::kParameter, "Net/embed/weight", {kWords, kHeads * kWidth});
    const auto forward = [&](const char* type, std::vector<TensorId> inputs, Shape shape,
                             Attributes facts = {}) {
      return p.node(type, "Net", Phase::kForward, std::move(inputs),
                    floats(TensorRole::kActivation, "", std::move(shape)), {}, "aten", std::move(facts));
    };
    const TensorId x = forward("embedding", {table, tokens}, {kBatch, kPlaces, kHeads * kWidth});
    const TensorId y = fused ? forward("_scaled_dot_product_flash_attention_for_cpu", {x, x, x},
                                       {kBatch, kHeads, kPlaces, kWidth}, {{"is_causal", causal}})
                             : byHand(forward, x);
    Attributes facts;
    if (next) facts["next_of"] = p.graph.node(p.graph.tensor(x).producer).name;
    if (labels) facts[labels] = p.graph.node(p.graph.tensor(x).producer).name;
    p.node("nll_loss_forward", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}), {}, "aten",
           facts);
    FakeSource source(p.graph, 1, 1);
    source.record(Rank(0), Iteration(0), table, numbers({kWords, kHeads * kWidth}, 1));
    return source;
  }

  template <typename Forward>
  TensorId byHand(const Forward& forward, TensorId x) const {
    TensorId scores = forward("bmm", {x, x}, {kBatch * kHeads, kPlaces, kPlaces});
    if (biased) scores = forward("add", {scores, scores}, {kBatch * kHeads, kPlaces, kPlaces});
    if (!masked.empty())
      scores = forward("masked_fill", {scores}, {kBatch, kHeads, kPlaces, kPlaces}, masked);
    TensorId weights = forward("_softmax", {scores}, {kBatch, kHeads, kPlaces, kPlaces}, softmax);
    if (dropped) weights = forward("native_dropout", {weights}, {kBatch, kHeads, kPlaces, kPlaces});
    return forward("bmm", {weights, x}, {kBatch * kHeads, kPlaces, kWidth},
                   {{"inner_strides", std::vector<std::int64_t>{summed, kHeads * kWidth}}});
  }
};

std::string ofCopiedTokens(const char* fact) {
  Attention attention;
  attention.next = false;
  attention.labels = fact;
  FakeSource source = attention.source();
  return said(source, "target_leak", Severity::kHint);
}

Attributes hiding(double next, double before, double later) {
  return {{"hides_next", next}, {"hides_before", before}, {"hides_later", later}};
}

std::string ofLeak(const Attention& attention) {
  FakeSource source = attention.source();
  return said(source, "target_leak", Severity::kFault);
}

std::string ofSoftmax(std::int64_t axis, std::int64_t summed, bool dropped = false) {
  FakeSource source =
      Attention{.softmax = {{"dim", axis}}, .summed = summed, .next = false, .dropped = dropped}.source();
  return said(source, "softmax_axis", Severity::kFault);
}

}  // namespace

TEST_CASE("softmax_axis knows the axis of views: heads, queries, and weights that are turned round") {
  CHECK(ofSoftmax(-1, 1).empty());
  CHECK(ofSoftmax(3, 1, true).empty());
  CHECK(contains(ofSoftmax(1, 1), "Softmax along axis 1 of [2, 3, 6, 6]"));
  CHECK(contains(ofSoftmax(2, 1, true), "sums over axis 3"));
  CHECK(ofSoftmax(2, kPlaces).empty());  // weights.transpose(-2, -1) @ values
  CHECK(contains(ofSoftmax(-1, kPlaces), "sums over axis 2"));
}

TEST_CASE("target_leak names an attention that sees the next token, without the values of a mask") {
  CHECK(contains(ofLeak({}), "no mask hides what comes after a place"));
  CHECK(contains(ofLeak({.dropped = true}), "no mask hides"));
  CHECK(contains(ofLeak({.masked = hiding(0, 1, 0)}), "turned round"));
  CHECK(contains(ofLeak({.masked = hiding(0, 0, 1)}), "one place too late"));
  CHECK(contains(ofLeak({.fused = true}), "no mask hides"));
  CHECK(ofLeak({.masked = hiding(1, 0, 1)}).empty());
  CHECK(ofLeak({.fused = true, .causal = true}).empty());
  CHECK(ofLeak({.next = false}).empty());   // an encoder, whose labels are others
  CHECK(ofLeak({.biased = true}).empty());  // nobody looked at what is added
}

TEST_CASE("mask_reversed takes the recorder's word for what a mask lets through") {
  const auto ofMask = [](Attributes facts) {
    FakeSource source = Attention{.masked = std::move(facts), .next = false}.source();
    return said(source, "mask_reversed", Severity::kFault);
  };
  CHECK(contains(ofMask({{"lets_through", std::int64_t{0}}, {"tokens_of", std::string("Net/embedding-op1")}}),
                 "lets through only the places where Net/tokens is 0"));
  CHECK(ofMask(hiding(1, 0, 1)).empty());
}

namespace {

std::string ofEvaluation(const char* switched, int from, Severity severity) {
  Program p;
  const TensorId mark = p.node("eval", "Net", Phase::kForward, {}, floats(TensorRole::kActivation, "", {}),
                               {}, "torch", {{"switched_off", std::string(switched)}});
  FakeSource source(p.graph, 1, 4);
  for (int k = 0; k < 4; ++k) {
    source.record(Rank(0), Iteration(k), p.x, numbers({8, 16}, 1));
    if (k >= from) source.record(Rank(0), Iteration(k), mark, numbers({}, 1));
  }
  return said(source, "evaluation_mode", severity);
}

}  // namespace

TEST_CASE("evaluation_mode tells from where on a network is trained as it is evaluated") {
  CHECK(contains(ofEvaluation("BatchNorm2d, Dropout", 2, Severity::kFault),
                 "so it is in 2 recorded iterations"));
  CHECK(ofEvaluation("BatchNorm2d, Dropout", 4, Severity::kFault).empty());
  CHECK(ofEvaluation("BatchNorm1d, BatchNorm2d", 2, Severity::kFault).empty());
  CHECK(contains(ofEvaluation("BatchNorm1d, BatchNorm2d", 2, Severity::kHint),
                 "Net is trained in evaluation mode"));
}

namespace {

// Two layers of which the second, the head, has no update.
std::string ofHead(bool trainable, double shift, bool bodyTrained = true) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 head = p.source(TensorRole::kParameter, "Net/head/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  p.graph.tensor(head).trainable = trainable;
  const TensorId h = p.layer("Net/a", p.x, a), y = p.layer("Net/head", h, head);
  const TensorId loss = p.node("mean", "main", Phase::kForward, {y}, floats(TensorRole::kLoss, "", {}));
  const TensorId ofA = p.gradient("Net/a", h, a, loss);
  if (bodyTrained) p.update("Net/a", a, ofA, rate);
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), a, numbers({16, 16}, 0.25));
  source.record(Rank(0), Iteration(0), head, numbers({16, 16}, 0.25, shift));
  return said(source, "frozen_at_random", Severity::kHint);
}

}  // namespace

TEST_CASE("frozen_at_random names a new head of PyTorch that is frozen behind a trained body") {
  CHECK(contains(ofHead(false, 0), "Net/head/weight is frozen"));
  CHECK(ofHead(true, 0).empty());
  CHECK(ofHead(false, 0.2).empty());       // it was loaded
  CHECK(ofHead(false, 0, false).empty());  // all is frozen
}

namespace {

// What the loss reads is a new tensor with the values of the layer's result, or others.
std::string ofCut(bool copies, bool varies) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16});
  p.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
  const TensorId y = p.layer("Net/a", p.x, a),
                 fresh = p.source(TensorRole::kConstant, "main/mse/self", {8, 16});
  p.node("mean", "main", Phase::kForward, {fresh}, floats(TensorRole::kLoss, "", {}));
  FakeSource source(p.graph, 1, 2);
  for (int k = 0; k < 2; ++k) {
    const double size = varies ? k + 1 : 1;
    source.record(Rank(0), Iteration(k), y, numbers({8, 16}, size));
    source.record(Rank(0), Iteration(k), fresh, numbers({8, 16}, copies ? size : size + 10));
  }
  return said(source, "no_gradient", Severity::kFault);
}

}  // namespace

TEST_CASE("no_gradient names the new tensor that values came back as") {
  CHECK(contains(ofCut(true, true), "main/mse/self holds the values of Net/a/mm-op1, bit for bit"));
  CHECK(contains(ofCut(false, true), "no parameter gets a gradient from the loss"));
  CHECK_FALSE(contains(ofCut(false, true), "holds the values"));
  CHECK_FALSE(contains(ofCut(true, false), "holds the values"));  // a constant may be equal by chance
}

TEST_CASE("nonfinite_propagation says of data that they are wrong, and which sample where it can be known") {
  Program p;
  p.layer("Net/a", p.x, p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}));
  Tensor wrong = numbers({8, 16}, 1);
  wrong.data<float>()[3 * 16 + 5] = std::nanf("");
  for (const bool stored : {true, false}) {
    FakeSource source(p.graph, 1, 1);
    source.record(Rank(0), Iteration(0), p.x, wrong);
    if (!stored) source.loseValues();
    const auto report =
        check(source, {watch::parseWatchpoint("nonfinite_propagation:recommended").value()}, {});
    REQUIRE(report.first);
    CHECK(contains(report.first->detail, "the data hold 1 NaN where they enter the graph"));
    CHECK(contains(report.first->detail, "first in sample 3 of 8") == stored);
    CHECK(contains(std::string(report.first->whatNext()), "--tensor x --iteration 0"));
    CHECK(contains(std::string(report.first->whatNext()), "Record them with --tensors x") == !stored);
  }
}

namespace {

// One log-probability of what was sampled, times what the line calls `weight`, whose mean goes from 1 to
// `last`.
std::string ofPolicy(bool negated, const char* weight, double last, bool sampled = true,
                     const char* joined = "") {
  Program p;
  const auto forward = [&](const char* type, std::vector<TensorId> inputs, DType dtype = DType::Float32) {
    TensorInfo info = floats(TensorRole::kActivation, "", {8});
    info.dtype = dtype;
    return p.node(type, "main", Phase::kForward, std::move(inputs), info);
  };
  const TensorId logits = p.layer("Net", p.x, p.source(TensorRole::kParameter, "Net/weight", {16, 16})),
                 step = p.source(TensorRole::kConstant, "reward", {8}),
                 reward = *joined ? p.node(joined, "main", Phase::kForward, {step, p.x},
                                           floats(TensorRole::kActivation, "", {8}), {}, "torch")
                                  : step;
  const TensorId action = forward(sampled ? "multinomial" : "argmax", {logits}, DType::Int64);
  TensorId chosen = forward("gather", {logits, action});
  if (negated) chosen = forward("neg", {chosen});
  const NodeId product = p.graph.addNode(
      "mul", "main", Phase::kForward, {chosen, reward}, {}, {floats(TensorRole::kActivation, "", {8})},
      {p.graph.addFrame(
          {"/train.py", 9, "main", std::string("loss = (logp * ") + weight + ").mean()", false})},
      {}, "aten");
  p.node("mean", "main", Phase::kForward, {p.graph.node(product).outputs[0]},
         floats(TensorRole::kLoss, "", {}));
  FakeSource source(p.graph, 1, 15);
  for (int k = 0; k < 15; ++k)
    source.record(Rank(0), Iteration(k), reward, numbers({8}, 0.1, 1 + (last - 1) * k / 14));
  if (*joined)
    for (int k = 0; k < 15; ++k) source.record(Rank(0), Iteration(k), step, numbers({8}, 0.1, 1));
  return said(source, "loss_input", Severity::kFault);
}

}  // namespace

TEST_CASE("loss_input knows a policy gradient that makes rewards small") {
  CHECK(contains(ofPolicy(false, "reward", 0.2),
                 "training makes rewards small; the mean of reward falls from"));
  // An episode that is written step by step: of the first step alone nothing is learnt.
  CHECK(contains(ofPolicy(false, "reward", 0.2, true, "parts"), "the mean of main/parts-op1 falls from"));
  CHECK(ofPolicy(true, "reward", 0.2).empty());          // it only trains badly
  CHECK(ofPolicy(false, "reward", 2).empty());           // its sign was turned before
  CHECK(ofPolicy(false, "cost", 0.2).empty());           // that is to become small
  CHECK(ofPolicy(false, "reward", 0.2, false).empty());  // nothing was sampled
}

TEST_CASE("Classes that are the tokens themselves are worth a look, and only where the recorder says so") {
  CHECK_THAT(ofCopiedTokens("same_as"), Catch::Contains("the labels are not shifted by one"));
  CHECK(ofCopiedTokens("same").empty());
}

namespace {

std::string ofReshape(std::vector<std::int64_t> from, std::vector<std::int64_t> to) {
  Program p;
  p.node("reshape", "Net", Phase::kForward, {p.x}, floats(TensorRole::kActivation, "", {}), {}, "torch",
         {{"from", std::move(from)}, {"to", std::move(to)}});
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), p.x, numbers({8, 16}, 1));
  return said(source, "reshape_mixes_axes", Severity::kFault);
}

// A recurrent layer and a loss of so many labels.
std::string ofRecurrent(std::int64_t steps, std::int64_t sequences, Shape labels,
                        const char* kind = "recurrent") {
  Program p;
  p.node(kind, "Net/lstm", Phase::kForward, {}, floats(TensorRole::kActivation, "", {}), {}, "torch",
         {{"steps", steps}, {"sequences", sequences}, {"batch_first", false}});
  const TensorId wanted = p.source(TensorRole::kLabel, "labels", std::move(labels));
  p.node("nll_loss_forward", "main", Phase::kForward, {p.x, wanted}, floats(TensorRole::kLoss, "", {}));
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), p.x, numbers({8, 16}, 1));
  return said(source, "loss_input", Severity::kFault);
}

// A self-attention, and positions that are learnt for so many places.
std::string ofPositions(std::int64_t steps, std::int64_t sequences, std::int64_t places) {
  Program p;
  p.node("attention", "Net/attn", Phase::kForward, {}, floats(TensorRole::kActivation, "", {}), {}, "torch",
         {{"steps", steps}, {"sequences", sequences}, {"batch_first", false}});
  const TensorId table = p.source(TensorRole::kParameter, "Net/pos/weight", {64, 16});
  TensorInfo range = floats(TensorRole::kActivation, "", {places});
  range.dtype = DType::Int64;
  const TensorId picked = p.node("arange", "Net", Phase::kForward, {}, range);
  p.node("embedding", "Net/pos", Phase::kForward, {table, picked},
         floats(TensorRole::kActivation, "", {places, 16}));
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), p.x, numbers({8, 16}, 1));
  return said(source, "loss_input", Severity::kFault);
}

// An optimizer has "Net/unused/weight" too, which nothing reads.
std::string withUnused(bool ofTorch) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 rate = p.source(TensorRole::kHyperparameter,
                                 ofTorch ? "optimizer/learning_rate" : "learning_rate", {});
  p.source(TensorRole::kParameter, "Net/unused/weight", {16, 16});
  p.source(TensorRole::kParameter, "Net/unused/bias", {16});
  const TensorId h = p.layer("Net/a", p.x, a);
  const TensorId loss = p.node("mean", "main", Phase::kForward, {h}, floats(TensorRole::kLoss, "", {}));
  p.update("Net/a", a, p.gradient("Net/a", h, a, loss), rate);
  FakeSource source(p.graph, 1, 2);
  for (int k = 0; k < 2; ++k) source.record(Rank(0), Iteration(k), a, numbers({16, 16}, 1));
  return said(source, "no_gradient", Severity::kHint);
}

}  // namespace

TEST_CASE("reshape_mixes_axes takes the recorder's word for what a view tears") {
  CHECK(contains(ofReshape({64, 17, 48}, {64, 4, 17, 12}), "the axis of 17 is not taken elsewhere"));
  CHECK(contains(ofReshape({2, 8, 6}, {8, 12}), "the axis of 8 is not taken elsewhere"));  // states of a LSTM
  // nn.MultiheadAttention's [time, batch, heads * width], where a head is as wide as the batch is large
  CHECK(ofReshape({17, 12, 48}, {17, 48, 12}).empty());
  CHECK(ofReshape({8, 12, 48}, {8, 48, 12}).empty());  // and as wide as batch * heads
  CHECK(ofReshape({8, 48, 12}, {96, 48}).empty());
  CHECK(ofReshape({64, 17, 48}, {1088, 4, 12}).empty());
  CHECK(contains(ofReshape({64, 16, 48}, {64, 4, 16, 12}), "the axis of 16 is not taken elsewhere"));
}

TEST_CASE("loss_input tells a recurrent layer that takes the samples for time") {
  CHECK(contains(ofRecurrent(64, 28, {64}), "Net/lstm takes the axis of 64 for time, and that of 28 for"));
  CHECK_FALSE(contains(ofRecurrent(28, 64, {64}), "for time"));
  CHECK(contains(ofRecurrent(64, 28, {64}, "attention"), "samples of a batch attend to one another"));
  CHECK_FALSE(contains(ofRecurrent(64, 64, {64}), "for time"));
  CHECK_FALSE(contains(ofRecurrent(64, 1, {64}), "for time"));  // one sequence, a label for each step
  CHECK_FALSE(contains(ofRecurrent(28, 64, {1792}), "for time"));
}

TEST_CASE("loss_input tells a self-attention across samples by the positions of the places") {
  CHECK(
      contains(ofPositions(32, 20, 20), "positions are learnt for 20 places: the samples of a batch attend"));
  CHECK(ofPositions(20, 32, 20).empty());
  CHECK(ofPositions(20, 20, 20).empty());
}

TEST_CASE("no_gradient hints at what an optimizer of torch has and nothing reads") {
  CHECK(contains(withUnused(true),
                 "an optimizer was given Net/unused/weight and 1 more parameter, up to "
                 "Net/unused/bias, and finds no gradient of them in any recorded iteration"));
  CHECK(withUnused(false).empty());
}

}  // namespace msdbg::test
