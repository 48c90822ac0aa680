// What each pass does to small graphs, and what it leaves alone.
#include <catch2/catch.hpp>

#include "core_engine/ops/functions.h"
#include "core_engine/passes/pipeline.h"
#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/pipeline.h"
#include "core_engine/runtime/backend.h"
#include "core_engine/train/layers.h"
#include "tests/ops/samples.h"

using namespace msdbg::core;

namespace {

struct Planned {
  Plan plan;
  PassNotes notes;
};

Planned planWith(const Graph& graph, const std::string& passes, std::vector<TensorId> keep,
                 std::vector<NodeId> pinned = {}, std::vector<std::string> recompute = {}) {
  PlanTrace trace;
  auto plan = makePlan(
      graph,
      {std::move(keep), std::move(pinned), {PassSelection::parse(passes).orThrow(), std::move(recompute)}},
      &trace);
  if (!plan.ok()) FAIL(plan.error().message());
  Planned planned{std::move(plan).value(), {}};
  for (const PassReport& report : trace.reports)
    if (report.on) planned.notes = report.notes;  // of the last one
  return planned;
}

const PlanStep& stepOf(const Planned& planned, const Graph& graph, Value value) {
  return planned.plan.steps[graph.tensor(value.id()).producer.index()];
}

std::int64_t placeOf(const Planned& planned, Value value) { return planned.plan.placeOf[value.id().index()]; }

}  // namespace

TEST_CASE("Operators that hand on their elements become views, and readers of a like shape read the root") {
  Graph g;
  const Value x = g.input("x", {4, 6}), a = relu(x), b = reshape(a, {24}), c = reshape(b, {4, 6}),
              y = sigmoid(c), z = tanh(b);
  const Planned planned = planWith(g, "identities", {y.id(), z.id()});
  CHECK(stepOf(planned, g, b).how == How::kView);
  CHECK(stepOf(planned, g, c).shares == std::vector{b.id()});
  CHECK(stepOf(planned, g, y).inputs == std::vector{a.id()});
  CHECK(stepOf(planned, g, z).inputs == std::vector{b.id()});  // another shape: it reads the view
  CHECK(planned.plan.rootOf(g, c.id()) == a.id());
  CHECK(planned.notes.summary == "views instead of copies: 2 nodes");
}

TEST_CASE("Transpositions are views where they move nothing or undo each other") {
  Graph g;
  const Value x = g.input("x", {1, 4, 6, 2}), moved = transpose(x, {0, 2, 1, 3}),
              back = transpose(moved, {0, 2, 1, 3}), still = transpose(x, {1, 2, 0, 3}),
              turned = transpose(moved, {0, 3, 1, 2}), two = transpose(turned, {0, 3, 2, 1});
  const Planned planned = planWith(g, "identities", {back.id(), still.id(), turned.id(), two.id()});
  CHECK(stepOf(planned, g, moved).how == How::kRun);
  CHECK(stepOf(planned, g, back).shares == std::vector{x.id()});
  CHECK(stepOf(planned, g, still).shares == std::vector{x.id()});
  CHECK(stepOf(planned, g, turned).how == How::kRun);
  CHECK(stepOf(planned, g, two).how == How::kRun);  // {0, 2, 1, 3} after {0, 3, 1, 2} is no way back
  REQUIRE(planned.notes.refusals.size() == 1);
  CHECK(planned.notes.refusals[0] == std::pair<std::string, std::int64_t>("Transpose moves elements", 3));
}

TEST_CASE("A view gives, for every sample of every operator, the bytes that its kernel gives") {
  int views = 0;
  for (const msdbg::test::Sample& sample : msdbg::test::samples()) {
    const auto built = msdbg::test::buildSample(sample, DType::Float32);
    std::vector<TensorId> keep;
    for (const Value& output : built.outputs) keep.push_back(output.id());
    const Planned planned = planWith(*built.graph, "identities", keep);
    const PlanStep& step = planned.plan.steps[built.node.index()];
    if (step.how != How::kView) continue;
    INFO(sample.op << " " << sample.what);
    const Tensor output = msdbg::test::runReference(built).front();
    REQUIRE(step.shares == std::vector{built.inputs[0].id()});
    CHECK(msdbg::test::sameBytes(output, built.values[0].reshaped(output.shape())));
    ++views;
  }
  CHECK(views >= 10);
}

TEST_CASE("What passes call a function of its inputs gives the same bytes in every state of a run") {
  int dependent = 0;
  for (const msdbg::test::Sample& sample : msdbg::test::samples()) {
    const auto built = msdbg::test::buildSample(sample, DType::Float32);
    const Node& node = built.graph->node(built.node);
    INFO(sample.op << " " << sample.what);
    const auto usual = msdbg::test::runReference(built, {.iteration = Iteration(3), .seed = 1});
    const auto other = msdbg::test::runReference(
        built, {.iteration = Iteration(8), .rank = Rank(0), .threads = 2, .seed = 5, .training = false});
    bool same = true;
    for (std::size_t i = 0; i < usual.size(); ++i) same &= msdbg::test::sameBytes(usual[i], other[i]);
    dependent += !same;
    if (isAlwaysFunctionOfInputs(*built.graph, node)) CHECK(same);
  }
  CHECK(dependent >= 2);  // Dropout, BatchNormalization
}

TEST_CASE("Equal nodes are computed once, and what reads them finds the first") {
  Graph g;
  const Value x = g.input("x", {4, 6}), a = transpose(x, {1, 0}), b = transpose(x, {1, 0}),
              c = transpose(x, {0, 1}), p = relu(a), q = relu(b), r = softmax(b, 0), s = softmax(b, 1);
  const std::vector keep{p.id(), q.id(), r.id(), s.id(), c.id()};
  const Planned planned = planWith(g, "common_subexpressions", keep);
  CHECK(stepOf(planned, g, b).how == How::kSame);
  CHECK(stepOf(planned, g, b).shares == std::vector{a.id()});
  CHECK(stepOf(planned, g, q).shares == std::vector{p.id()});  // equal once their inputs are
  CHECK(stepOf(planned, g, c).how == How::kRun);
  CHECK(stepOf(planned, g, r).inputs == std::vector{a.id()});
  CHECK(stepOf(planned, g, s).how == How::kRun);
  CHECK(planned.notes.changes.size() == 2);

  const NodeId pinned = g.tensor(a.id()).producer;
  CHECK(planWith(g, "common_subexpressions", keep, {pinned}).notes.changes.empty());
}

TEST_CASE("Two Dropouts of one tensor draw their own numbers and stay two") {
  Graph g;
  const Value x = g.input("x", {64}), a = dropout(x, 0.5), b = dropout(x, 0.5);
  const Planned planned = planWith(g, "common_subexpressions", {a.id(), b.id()});
  CHECK(stepOf(planned, g, b).how == How::kRun);
}

TEST_CASE("Nodes that nothing needs are left to observers, with all that only they read") {
  Graph g;
  const Value x = g.input("x", {4, 6}), a = relu(x), unused = sigmoid(a), more = tanh(unused), y = softmax(a);
  const Planned planned = planWith(g, "dead_nodes", {y.id()});
  CHECK(stepOf(planned, g, a).how == How::kRun);
  CHECK(stepOf(planned, g, unused).how == How::kWatched);
  CHECK(stepOf(planned, g, more).how == How::kWatched);
  CHECK(planned.notes.summary == "computed only where observed: 2 nodes");
  const NodeId pinned = g.tensor(more.id()).producer;  // a fault is planted there: it is seen only if it runs
  CHECK(planWith(g, "dead_nodes", {y.id()}, {pinned}).notes.changes.empty());
}

TEST_CASE("What reads constants alone is computed once; what an iteration changes is not") {
  Graph g;
  const Value x = g.input("x", {4, 4}), one = constant(g, 1, {4, 4}, DType::Float32, Where::current()),
              mask = trilu(one), flat = reshape(mask, {16}), twice = relu(flat), sum = x + mask,
              random = dropout(one, 0.5);
  const Planned planned = planWith(g, "identities,constant_folding", {sum.id(), twice.id(), random.id()});
  CHECK(stepOf(planned, g, mask).how == How::kOnce);
  CHECK(stepOf(planned, g, flat).how == How::kView);
  CHECK(stepOf(planned, g, twice).how == How::kOnce);
  CHECK(stepOf(planned, g, sum).how == How::kRun);
  CHECK(stepOf(planned, g, random).how == How::kRun);
  REQUIRE(planned.notes.refusals.size() == 1);
  CHECK(planned.notes.refusals[0].first == "Dropout depends on the iteration");
}

TEST_CASE("Split along its outermost dimension has views of parts; readers of equal parts stay apart") {
  Graph g;
  const Value x = g.input("x", {1, 6, 32});
  const std::vector<Value> parts = split(x, 3, 1);
  const Value first = reshape(parts[0], {64}), last = reshape(parts[2], {64}), y = tanh(first),
              z = tanh(last);
  const Planned planned = planWith(g, "identities", {y.id(), z.id()});
  REQUIRE(stepOf(planned, g, parts[0]).how == How::kView);
  CHECK(stepOf(planned, g, parts[0]).starts == std::vector<std::int64_t>{0, 64, 128});
  CHECK(stepOf(planned, g, y).inputs == std::vector{first.id()});
  CHECK(stepOf(planned, g, z).inputs == std::vector{last.id()});
  CHECK(planned.plan.regionOf(g, last.id()) == Region{x.id(), 128});
  CHECK_FALSE(planned.plan.regionOf(g, first.id()) == planned.plan.regionOf(g, last.id()));

  Graph other;
  const std::vector<Value> inner = split(other.input("x", {2, 64}), 2, 1),
                           unaligned = split(other.input("z", {6, 5}), 2, 0);
  std::vector<TensorId> keep;
  for (const auto& values : {inner, unaligned})
    for (const Value value : values) keep.push_back(value.id());
  const Planned copied = planWith(other, "identities", keep);
  CHECK(stepOf(copied, other, inner[0]).how == How::kRun);
  CHECK(stepOf(copied, other, unaligned[0]).how == How::kRun);
}

TEST_CASE("Tensors share memory, never while they are needed") {
  Graph g;
  const Value x = g.input("x", {32, 64}), a = relu(x), b = sigmoid(a), c = tanh(b), view = reshape(c, {2048}),
              d = relu(c), e = sigmoid(d), y = sigmoid(view), small = softmax(g.input("s", {4}));
  const Planned planned = planWith(g, "identities,memory", {e.id(), small.id()});
  CHECK(placeOf(planned, a) == 0);
  CHECK(placeOf(planned, b) == 8192);
  CHECK(placeOf(planned, c) == 0);                 // a is no longer needed
  CHECK(placeOf(planned, d) == 8192);              // c is, until y has read its view
  CHECK(placeOf(planned, e) == Plan::kOwnMemory);  // kept
  CHECK(placeOf(planned, y) == 8192);
  CHECK(placeOf(planned, small) == Plan::kOwnMemory);
  CHECK(planned.plan.shared.bytes == 16384);
  CHECK(planned.notes.summary ==
        "5 tensors share 16 kB instead of 41 kB, 25 kB saved; 16 kB are needed at once");
}

TEST_CASE("Tensors of any sizes share no more memory than the largest that are needed at once") {
  Graph g;
  std::vector<TensorId> sums;
  std::size_t number = 0;
  for (const std::int64_t rows : {32, 48, 24, 16}) {
    const Value x = g.input("x" + std::to_string(number++), {rows, 64});
    sums.push_back(reduceSum(sigmoid(relu(x)), {}, false).id());  // only the sum is kept
  }
  CHECK(planWith(g, "memory", sums).plan.shared.bytes == 2 * 48 * 64 * 4);
}

TEST_CASE("Updates are written over what they replace, unless it is read later or a fault is planted") {
  Graph g("net");
  const Value label = g.input("label", {8}, DType::Int64);
  const Value loss = softmaxCrossEntropy(linear(g.input("x", {8, 16}), {.out = 4}), label);
  REQUIRE(compileTraining(g, loss.id(), Sgd{.momentum = 0.9}, 1).ok());
  const auto planned = [&](std::vector<TensorId> keep, std::vector<NodeId> pinned) {
    const auto backend = makeCpuBackend();
    PlanOptions options{std::move(keep), std::move(pinned), {PassSelection::parse("in_place").orThrow(), {}}};
    options.kernels = backend.get();
    return makePlan(g, options).orThrow();
  };
  const auto written = [](const Plan& plan) { return std::ranges::count(plan.inPlace, true); };
  CHECK(written(planned({loss.id()}, {})) == 4);  // weight, bias and the momentum of each
  const auto update = std::ranges::find(g.nodes(), "SgdUpdate", &Node::opType);
  CHECK(written(planned({loss.id()}, {update->id})) == 2);
  CHECK(written(makePlan(g, {.keep = {{loss.id()}}}).orThrow()) == 0);  // reference kernels
}

TEST_CASE("A scope that is computed again gives up its activations until the backward pass needs them") {
  Graph g("net");
  Value x = g.input("x", {32, 64});
  const Value label = g.input("label", {32}, DType::Int64);
  Value inner, outer;
  {
    const Scope scope = g.scope("block");
    inner = relu(linear(x, {.out = 64}));
    outer = sigmoid(linear(inner, {.out = 64}));
  }
  const Value loss = softmaxCrossEntropy(outer, label);
  REQUIRE(compileTraining(g, loss.id(), Sgd{}, 1).ok());
  const Planned kept = planWith(g, "memory", {loss.id()});
  const Planned again = planWith(g, "recomputation,memory", {loss.id()}, {}, {"block"});
  const auto repeated = [&](const Planned& planned) {
    std::vector<std::string> names;
    for (const PlanStep& step : planned.plan.steps)
      for (const NodeId id : step.again) names.push_back(g.node(step.node).opType + " <- " + g.node(id).name);
    return names;
  };
  CHECK(repeated(kept).empty());
  CHECK(repeated(again) == std::vector<std::string>{
                               "SigmoidGrad <- net/block/Gemm-op1", "SigmoidGrad <- net/block/Relu-op1",
                               "SigmoidGrad <- net/block/Gemm-op2", "SigmoidGrad <- net/block/Sigmoid-op1"});
  const auto secondOf = [&](const Planned& planned, Value value) {
    return planned.plan.secondPlaceOf[value.id().index()];
  };
  CHECK(secondOf(kept, inner) == Plan::kOwnMemory);
  CHECK(secondOf(again, inner) != Plan::kOwnMemory);

  Graph viewed("net");
  const Value pixels = viewed.input("x", {32, 64}), digits = viewed.input("label", {32}, DType::Int64);
  Value flat;
  {
    const Scope scope = viewed.scope("block");
    flat = reshape(relu(reshape(sigmoid(linear(pixels, {.out = 64})), {16, 128})), {32, 64});
  }
  const Value lost = softmaxCrossEntropy(linear(flat, {.out = 4}), digits);
  REQUIRE(compileTraining(viewed, lost.id(), Sgd{}, 1).ok());
  CHECK(secondOf(planWith(viewed, "identities,recomputation,memory", {lost.id()}, {}, {"block"}), flat) ==
        Plan::kOwnMemory);  // a view moves with what it shows

  const NodeId pinned = g.tensor(outer.id()).producer;
  CHECK(repeated(planWith(g, "recomputation", {loss.id()}, {pinned}, {"block"})).size() == 2);
}

TEST_CASE("A scope to compute again that the forward pass has not is answered with the nearest") {
  Graph g("net");
  Value y = g.input("x", {4});
  {
    const Scope scope = g.scope("block1");
    y = relu(y);
  }
  const auto error = [&](const std::string& glob) {
    return makePlan(g, {.keep = {{y.id()}}, .choices = {.recompute = {glob}}}).error();
  };
  CHECK(error("blok1").code() == ErrorCode::kNotFound);
  CHECK_THAT(error("blok1").message(),
             Catch::Contains("no scope of the forward pass matches 'blok1'; did you mean net/block1"));
  CHECK(makePlan(g, {.keep = {{y.id()}}, .choices = {.recompute = {"block*"}}}).ok());
}
