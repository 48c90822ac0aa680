// Which kernels go through memory together, and that nobody can tell from the numbers.
#include <catch2/catch.hpp>

#include "core_engine/ops/functions.h"
#include "core_engine/plan/pipeline.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;

namespace {

/// Attention's middle: scaled, masked, softmax; and a residual.
struct Attention {
  Graph g;
  Value x, mask, scaled, masked, y, z;
  Attention() {
    x = g.input("x", {4, 32, 64});
    mask = g.input("mask", {32, 64});
    scaled = x * 0.125;
    masked = scaled + mask;
    y = softmax(masked);
    z = y + x;
  }

  PlanOptions options(std::vector<TensorId> keep, std::vector<NodeId> pinned = {}) const {
    static const std::unique_ptr<Backend> backend = makeCpuBackend();
    PlanOptions options{.keep = std::move(keep), .pinned = std::move(pinned)};
    options.kernels = backend.get();
    return options;
  }
  NodeId nodeOf(Value value) const { return g.tensor(value.id()).producer; }
  Plan plan(const PlanOptions& options) const { return makePlan(g, options).orThrow(); }
  std::vector<NodeId> group(const Plan& plan, Value first) const {
    std::vector<NodeId> nodes;
    for (const GroupMember& member : plan.steps[nodeOf(first).index()].group) nodes.push_back(member.node);
    return nodes;
  }
};

/// Keeps what it is shown.
class Seen : public Observer {
 public:
  void graphReady(const Graph&) override {}
  void iterationStarted(Iteration) override {}
  void tensorReady(const TensorReady& ready) override {
    shown.emplace_back(ready.tensor, ready.value.clone());
  }
  void iterationFinished(Iteration, const Scalars&) override {}
  std::vector<std::pair<TensorId, Tensor>> shown;
};

}  // namespace

TEST_CASE("Kernels on the same elements are one group, and what only they read stays inside") {
  const Attention a;
  const Plan plan = a.plan(a.options({a.z.id()}));
  CHECK(a.group(plan, a.scaled) ==
        std::vector{a.nodeOf(a.scaled), a.nodeOf(a.masked), a.nodeOf(a.y), a.nodeOf(a.z)});
  CHECK(plan.isInside(a.g, a.scaled.id()));
  CHECK(plan.isInside(a.g, a.y.id()));
  CHECK_FALSE(plan.isInside(a.g, a.z.id()));
  CHECK(plan.steps[a.nodeOf(a.y).index()].how == How::kGrouped);
  CHECK(plan.steps[a.nodeOf(a.y).index()].leader == a.nodeOf(a.scaled));
  const std::string text = planText(a.g, plan);
  CHECK_THAT(text, Catch::Contains("%0 = run Mul(network/x:0, network/const:0) -> (float32[4,32,64]@0)  # "
                                   "network/Mul-op1  with %1 %2 %3"));
  CHECK_THAT(text, Catch::Contains("%3 = grouped Add("));
}

TEST_CASE("What is kept or read elsewhere is written, faults are planted in kernels of their own") {
  const Attention a;
  SECTION("kept") { CHECK_FALSE(a.plan(a.options({a.z.id(), a.y.id()})).isInside(a.g, a.y.id())); }
  SECTION("pinned") {
    const Plan plan = a.plan(a.options({a.z.id()}, {a.nodeOf(a.masked)}));
    CHECK(a.group(plan, a.scaled).empty());
    CHECK(plan.steps[a.nodeOf(a.masked).index()].how == How::kRun);
    CHECK(a.group(plan, a.y) == std::vector{a.nodeOf(a.y), a.nodeOf(a.z)});
  }
  SECTION("read by another kernel") {
    Attention b;
    const Value total = reduceSum(b.y, {}, false);
    CHECK_FALSE(b.plan(b.options({b.z.id(), total.id()})).isInside(b.g, b.y.id()));
  }
  SECTION("without a list of what is wanted") {
    PlanOptions options = a.options({});
    options.keep.reset();
    CHECK(a.group(a.plan(options), a.scaled).empty());
  }
}

TEST_CASE("A group waits for nothing that is computed after its first node") {
  Graph g;
  const Value x = g.input("x", {64, 64}), w = g.input("w", {64, 64}), a = relu(x), late = matmul(x, w),
              y = a + late, z = tanh(y);
  const Attention helper;
  const Plan plan = makePlan(g, helper.options({z.id()})).orThrow();
  CHECK(plan.steps[g.tensor(a.id()).producer.index()].group.empty());
  CHECK(plan.steps[g.tensor(y.id()).producer.index()].group.size() == 2);
}

TEST_CASE("A broken group is refused with the broken rule") {
  const Attention a;
  const PlanOptions options = a.options({a.z.id()});
  Plan plan = a.plan(options);
  const auto broken = [&] {
    const Status status = verifyPlan(a.g, options, plan);
    return status.ok() ? std::string() : status.error().message();
  };
  REQUIRE(broken() == "");
  PlanStep &first = plan.steps[a.nodeOf(a.scaled).index()], &last = plan.steps[a.nodeOf(a.z).index()];
  SECTION("left out") {
    first.group.pop_back();
    CHECK_THAT(broken(), Catch::Contains("network/Add-op2 is grouped, but in no group"));
  }
  SECTION("not led") {
    last.how = How::kRun;
    CHECK_THAT(broken(), Catch::Contains("is no member of the group that names it"));
  }
  SECTION("read outside") {
    last.how = How::kRun;
    first.group.pop_back();
    CHECK_THAT(broken(), Catch::Contains("network/Add-op2 reads network/Softmax-op1:0, which is passed on"));
  }
  SECTION("linked to another value") {
    first.group[1].links[0] = GroupMember::kFromMemory;
    CHECK_THAT(broken(), Catch::Contains("which its group does not precede"));
  }
  SECTION("not written though kept") {
    first.group[3].inside = true;
    CHECK_THAT(broken(), Catch::Contains("is computed only where observed, but is to be kept"));
  }
}

TEST_CASE("Grouped or not, observed or not, an executor gives the same bits") {
  const Tensor x = msdbg::test::numbers({4, 32, 64}, 1), mask = msdbg::test::numbers({32, 64}, 2);
  const auto run = [&](const std::string& passes, Observer* observer, int threads) {
    Attention a;
    ExecutorOptions options;
    options.threads = threads;
    options.keep = {a.z.id()};
    options.choices.passes = PassSelection::parse(passes).orThrow();
    const auto executor = Executor::create(a.g, options).orThrow();
    REQUIRE(executor->run(Iteration(0), {{a.x.id(), x}, {a.mask.id(), mask}}, observer).ok());
    if (passes == "all" && !observer) CHECK_FALSE(executor->value(a.masked.id()).valid());
    return executor->value(a.z.id()).clone();
  };
  Seen alone, grouped;
  const Tensor expected = run("none", &alone, 1);
  for (const int threads : {1, 2, 3}) {
    CHECK(msdbg::test::sameBits(run("all", nullptr, threads), expected));
    grouped.shown.clear();
    CHECK(msdbg::test::sameBits(run("all", &grouped, threads), expected));
    REQUIRE(grouped.shown.size() == alone.shown.size());
    for (std::size_t i = 0; i < alone.shown.size(); ++i) {
      CHECK(grouped.shown[i].first == alone.shown[i].first);
      CHECK(msdbg::test::sameBits(grouped.shown[i].second, alone.shown[i].second));
    }
  }
}

TEST_CASE("Views of what is computed only where observed are shown in their own shape") {
  const Tensor x = msdbg::test::numbers({64, 32}, 1);
  const auto run = [&](const std::string& passes, Seen& seen) {
    Graph g;
    const Value in = g.input("x", {64, 32}), a = relu(in), b = reshape(a, {2048}), y = sigmoid(b),
                unused = tanh(in), view = reshape(unused, {32, 64});
    ExecutorOptions options;
    options.keep = {y.id()};
    options.choices.passes = PassSelection::parse(passes).orThrow();
    const auto executor = Executor::create(g, options).orThrow();
    for (Observer* observer : std::vector<Observer*>{nullptr, &seen})
      REQUIRE(executor->run(Iteration(0), {{in.id(), x}}, observer).ok());
    CHECK(view.shape() == Shape{32, 64});
  };
  Seen plain, planned;
  run("none", plain);
  run("all", planned);
  REQUIRE(planned.shown.size() == plain.shown.size());
  for (std::size_t i = 0; i < plain.shown.size(); ++i) {
    CHECK(planned.shown[i].second.shape() == plain.shown[i].second.shape());
    CHECK(msdbg::test::sameBits(planned.shown[i].second, plain.shown[i].second));
  }
}
