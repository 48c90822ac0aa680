// Two recorded runs, ranks or iterations held against each other: the first difference is the planted one.
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/losses.h"
#include "replay/diff/compare.h"
#include "replay/diff/last_bit.h"
#include "replay/recompute/compare_computed.h"
#include "tests/replay/fake_run.h"
#include "tests/replay/recorded_program.h"

using namespace msdbg;
using namespace msdbg::core;
using replay::Agreement;
using replay::Comparison;
using replay::Tolerance;
using test::FakeRun;
using test::RecordedProgram;
using test::RecordedRun;

namespace {

constexpr std::int64_t kRows = 6, kColumns = 8;

RecordedProgram program() {
  RecordedProgram p;
  p.loss = [](Graph& g) {
    const Value label = g.input("label", {kRows}, DType::Int64);
    Value x = g.input("x", {kRows, kColumns});
    {
      const auto scope = g.scope("fc1");
      x = relu(linear(x, {.out = 5}));
    }
    const auto scope = g.scope("fc2");
    return softmaxCrossEntropy(linear(x, {.out = 3}), label);
  };
  p.batch = [](int iteration) {
    Tensor x(DType::Float32, {kRows, kColumns});
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.data<float>()[static_cast<std::size_t>(i)] =
          static_cast<float>(std::sin(0.37 * static_cast<double>(i) + iteration));
    return std::vector<std::pair<std::string, Tensor>>{{"x", x},
                                                       {"label", test::int64s({kRows}, {0, 1, 2, 0, 1, 2})}};
  };
  p.iterations = 6;
  p.values = true;
  return p;
}

RecordedProgram withoutValues(RecordedProgram p) {
  p.values = false;
  p.options.batches = false;
  p.options.checkpointEvery = dump::RecordOptions::kNoCheckpoints;
  return p;
}

Comparison compare(replay::Run& a, replay::Run& b, const std::string& tolerance = "exact", bool all = false) {
  const replay::ComparisonOptions options{.tolerance = Tolerance::parse(tolerance).orThrow(), .all = all};
  return replay::compareRuns(a, b, IndexList::all(), a.ranks(), options).orThrow();
}

std::string firstOf(replay::Run& a, const Comparison& found) {
  return found.first ? a.graph().tensor(found.first->what.a).fullName() : "";
}

/// y = x * w, then w + y: two ranks that should agree on all but x and y.
struct Small {
  Graph graph;
  TensorId x, w, y, sum;
};
Small small() {
  Small s;
  const Value x = s.graph.input("x", {4});
  const Value w = s.graph.parameter("w", {4}, Init::ones());
  const Value y = x * w;
  const Value sum = w + y;
  s.x = x.id(), s.w = w.id(), s.y = y.id(), s.sum = sum.id();
  for (const TensorId id : {s.w, s.sum}) s.graph.tensor(id).replicated = true;
  return s;
}

}  // namespace

TEST_CASE("Two recordings of one program are equal in every bit, by hashes where no value is stored") {
  RecordedRun a(program()), b(withoutValues(program()));
  const Comparison found = compare(a.run(), b.run());
  CHECK(!found.differs());
  CHECK(!found.first);
  CHECK(found.counts.equal == 6 * static_cast<std::int64_t>(a.run().graph().tensors().size()));
  CHECK(found.graph.same());
  CHECK(found.compared == IterationSet{0, 1, 2, 3, 4, 5});
  for (const auto& group : found.given) CHECK((!group.first && group.compared > 0));
}

TEST_CASE("A fault is found where it was planted, with what it reads, and all behind it is no beginning") {
  RecordedProgram sick = program();
  sick.faults = {"nan@iteration=3,node=network/fc2/Gemm-op1"};
  RecordedRun a(program()), b(sick);
  const Comparison found = compare(a.run(), b.run());
  REQUIRE(found.first);
  CHECK(firstOf(a.run(), found) == "network/fc2/Gemm-op1:0");
  CHECK(found.first->what.iterationA == Iteration(3));
  CHECK(!found.first->what.inputsDiffer);
  CHECK(found.first->what.measures->nanOnlyB == 1);
  REQUIRE(found.first->reads.size() == 3);
  for (const auto& read : found.first->reads) CHECK(read.verdict == Agreement::kEqual);
  CHECK(!found.first->kernelA.empty());
  for (std::size_t i = 1; i < found.different.size(); ++i) CHECK(found.different[i].inputsDiffer);
  CHECK(compare(a.run(), b.run(), "1000").differs());  // NaN is within no tolerance
  CHECK(compare(a.run(), b.run(), "auto").first->what.iterationA == Iteration(3));
}

TEST_CASE("Another rate differs first as such, then in the updates; another batch in its iteration") {
  RecordedProgram other = program();
  other.optimizer = Sgd{.lr = 0.02};
  RecordedRun a(program()), b(other);
  const Comparison rate = compare(a.run(), b.run());
  CHECK(firstOf(a.run(), rate) == "optimizer/learning_rate:0");
  CHECK(rate.given[1].first);
  CHECK(!rate.given[0].first);
  CHECK(!rate.given[2].first);
  for (std::size_t i = 1; i < rate.different.size(); ++i)
    CHECK(a.run().graph().tensor(rate.different[i].a).role == TensorRole::kUpdated);

  RecordedProgram drawn = program();
  const auto batch = drawn.batch;
  drawn.batch = [batch](int i) { return batch(i < 4 ? i : i + 1); };
  RecordedRun c(drawn);
  const Comparison batches = compare(a.run(), c.run());
  CHECK(firstOf(a.run(), batches) == "network/x:0");
  REQUIRE(batches.given[0].first);
  CHECK(batches.given[0].first->iterationA == Iteration(4));
}

TEST_CASE("Without values statistics say by how much at least, and tolerance cannot be judged below that") {
  RecordedProgram other = withoutValues(program());
  other.optimizer = Sgd{.lr = 0.02};
  RecordedRun a(withoutValues(program())), b(other);
  const Comparison exact = compare(a.run(), b.run());
  REQUIRE(exact.first);
  CHECK(exact.first->what.by == replay::ComparedBy::kStatistics);
  CHECK(exact.first->what.atLeast == Approx(0.01).epsilon(1e-6));
  const Comparison loose = compare(a.run(), b.run(), "0.9");
  CHECK(!loose.differs());
  CHECK(loose.counts.undecided > 0);
}

TEST_CASE("A renamed layer with equal numbers is no difference but a renaming") {
  RecordedProgram renamed = program();
  renamed.loss = [](Graph& g) {
    const Value label = g.input("label", {kRows}, DType::Int64);
    Value x = g.input("x", {kRows, kColumns});
    {
      const auto scope = g.scope("fc1");
      x = relu(linear(x, {.out = 5}));
    }
    x = identity(x);
    const auto scope = g.scope("fc2");
    return softmaxCrossEntropy(linear(x, {.out = 3}), label);
  };
  RecordedRun a(program()), b(renamed);
  const Comparison found = compare(a.run(), b.run());
  CHECK(!found.graph.same());
  CHECK(found.graph.onlyA.empty());
  CHECK(!found.graph.onlyB.empty());
  CHECK(!found.differs());
}

TEST_CASE("Iterations of a run are measured, and none of them is first") {
  RecordedRun run(program());
  const Comparison found =
      replay::compareIterations(run.run(), Iteration(0), Iteration(5), run.run().ranks(),
                                {.tensors = {*run.run().graph().findTensor("network/fc1/weight:0")}})
          .orThrow();
  CHECK(!found.first);
  REQUIRE(found.different.size() == 1);
  const Tensor before = run.run().value(Rank(0), Iteration(0), found.different[0].a).orThrow();
  const Tensor after = run.run().value(Rank(0), Iteration(5), found.different[0].a).orThrow();
  double most = 0;
  for (std::int64_t i = 0; i < before.elements(); ++i)
    most = std::max(most, std::abs(before.at(i) - after.at(i)));
  CHECK(found.different[0].measures->maxAbs == most);
}

TEST_CASE("Of two ranks only what should be equal is judged") {
  const Small s = small();
  FakeRun run(s.graph, 2, 2);
  for (const int rank : {0, 1})
    for (const int iteration : {0, 1}) {
      const auto record = [&](TensorId id, float value) {
        run.rows.record(Rank(rank), Iteration(iteration), id,
                        test::floats({4}, {value, value, value, value}));
      };
      record(s.x, static_cast<float>(rank));
      record(s.w, 1);
      record(s.y, static_cast<float>(rank));
      record(s.sum, rank == 1 && iteration == 1 ? 3 : 2);
    }
  const Comparison found = replay::compareRanks(run, Rank(0), Rank(1), IndexList::all(), {}).orThrow();
  REQUIRE(found.first);
  CHECK(found.first->what.a == s.sum);
  CHECK(found.first->what.iterationA == Iteration(1));
  CHECK(!found.first->what.inputsDiffer);
  CHECK(found.first->what.inputsByNature);  // y
  CHECK(found.counts.byNature == 4);
  CHECK(found.counts.different == 1);
  CHECK(found.first->what.measures->maxAbs == 1);
}

TEST_CASE("Ranks in another number: batches are put together, and what all agree on is compared") {
  const Small s = small();
  Small wide;
  {
    const Value x = wide.graph.input("x", {8});
    const Value w = wide.graph.parameter("w", {4}, Init::ones());
    wide.x = x.id(), wide.w = w.id();
  }
  FakeRun one(wide.graph, 1, 1), two(s.graph, 2, 1);
  one.rows.record(Rank(0), Iteration(0), wide.x, test::floats({8}, {0, 0, 0, 0, 1, 1, 1, 1}));
  one.rows.record(Rank(0), Iteration(0), wide.w, test::floats({4}, {1, 1, 1, 1}));
  for (const int rank : {0, 1}) {
    const auto value = static_cast<float>(rank);
    two.rows.record(Rank(rank), Iteration(0), s.x, test::floats({4}, {value, value, value, value}));
    two.rows.record(Rank(rank), Iteration(0), s.w, test::floats({4}, {1, 1, 1, 1}));
  }
  const Comparison found = compare(one, two);
  CHECK(!found.differs());
  CHECK(!found.allJudged);
  CHECK(found.counts.equal == 1);     // w
  CHECK(found.counts.byNature == 1);  // x
  CHECK(found.given[0].compared == 1);
  CHECK(!found.given[0].first);
  two.rows.record(Rank(1), Iteration(0), s.x, test::floats({4}, {1, 1, 1, 2}));
  CHECK(compare(one, two).given[0].first);
}

TEST_CASE("What one last bit makes of a sum is one last bit of it, and of a copy the same") {
  const Small s = small();
  FakeRun run(s.graph, 1, 1);
  run.rows.record(Rank(0), Iteration(0), s.x, test::floats({4}, {1.5F, 1.5F, 1.5F, 1.5F}));
  run.rows.record(Rank(0), Iteration(0), s.w, test::floats({4}, {1, 1, 1, 1}));
  replay::LastBits bits(run, {});
  const NodeId product = s.graph.tensor(s.y).producer;
  const auto found = bits.of(Rank(0), Iteration(0), product, {}).orThrow();
  const double ulp = std::ldexp(1.0, -23);
  REQUIRE(found.size() == 1);
  CHECK(found[0].ofOne >= ulp / 2);
  CHECK(found[0].ofOne <= 3 * ulp);  // (1.5 + ulp)(1 + ulp) rounds to 1.5 + 2 or 3 ulp
  CHECK(!found[0].propagated);
  const auto other = bits.of(Rank(0), Iteration(0), s.graph.tensor(s.sum).producer, {});
  CHECK(other.error().code() == ErrorCode::kUnavailable);  // y is not recorded
}

TEST_CASE("Tolerance auto lets pass what rounding makes, and not what is ten times as much") {
  const Small s = small();
  const auto runWith = [&](float error) {
    auto run = std::make_unique<FakeRun>(s.graph, 1, 1);
    const auto record = [&](TensorId id, float value) {
      run->rows.record(Rank(0), Iteration(0), id, test::floats({4}, {value, value, value, value}));
    };
    record(s.x, 3), record(s.w, 1), record(s.y, 3 * (1 + error)), record(s.sum, 4);
    return run;
  };
  const auto a = runWith(0);
  const float eps = std::numeric_limits<float>::epsilon();
  CHECK(!compare(*a, *runWith(2 * eps), "auto").differs());
  CHECK(compare(*a, *runWith(2 * eps)).differs());
  const Comparison far = compare(*a, *runWith(100 * eps), "auto");
  REQUIRE(far.first);
  CHECK(far.first->what.a == s.y);
  CHECK(far.first->what.lastBit);
}

TEST_CASE("Recorded against computed again: equal, or the planted place with how far the computed goes") {
  RecordedProgram p = program();
  p.options.policy = dump::Policy::kFull;
  p.options.checkpointEvery = 4;
  p.options.batches = true;
  RecordedRun well(p);
  const auto all = [](RecordedRun& run) { return run.run().iterationSet(Rank(0)); };
  const Comparison same = replay::compareComputed(well.run(), all(well), {}).orThrow();
  CHECK(!same.differs());
  CHECK(same.compared.size() == 6);
  p.faults = {"nan@iteration=1,node=network/fc1/Gemm-op1"};
  RecordedRun sick(p);
  const Comparison found = replay::compareComputed(sick.run(), all(sick), {}).orThrow();
  REQUIRE(found.first);
  CHECK(firstOf(sick.run(), found) == "network/fc1/Gemm-op1:0");
  CHECK(found.first->what.measures->nanOnlyA == 1);
  CHECK(found.course.size() == 5);
}

TEST_CASE("A tolerance is exact, auto or a number that is none below zero") {
  CHECK(Tolerance::parse("1e-5").orThrow().scale == 1e-5);
  for (const char* text : {"", "-1", "nan", "inf", "1e-5x", "Auto"})
    CHECK(Tolerance::parse(text).error().code() == ErrorCode::kUsage);
}

TEST_CASE("Configurations are told apart by what may change numbers, and not by where a run lies") {
  replay::RunDescription a, b;
  a.command = {"/x/msdbg", "dump", "mlp", "-o", "a.msdbg"};
  b.command = {"msdbg", "dump", "mlp", "-o", "b.msdbg"};
  CHECK(replay::compareConfigurations(a, b).empty());
  a.libraries = {{"dnnl", "2.6"}}, b.libraries = {{"dnnl", "3.1"}};
  a.modelOptions = {{"lr", "0.1"}};
  b.seed = 7;
  const auto found = replay::compareConfigurations(a, b);
  REQUIRE(found.size() == 3);
  CHECK(found[0].what == "option lr");
  CHECK(found[0].b.empty());
  CHECK(found[1].what == "seed");
  CHECK(found[2].what == "library dnnl");
}
