// Numbers that jump, batches that come twice, steps that a GradScaler skips: what only several iterations
// show.
#include <catch2/catch.hpp>

#include "tests/watchpoints/healthy_source.h"
#include "tests/watchpoints/torch_program.h"

namespace msdbg::test {

using namespace core;
using Catch::Contains;

namespace {

constexpr int kIterations = 40, kAt = 30;

void setTo(FakeSource& source, int rank, int iteration, const std::string& tensor, double value) {
  TensorStatistics& s = source.row(rank, iteration, source.id(tensor)).values;
  s.min = s.max = s.mean = s.meanAbs = value;
  s.l2 = std::abs(value);
  s.count = std::max<std::int64_t>(s.count, 1);
}

/// A loss that falls slowly from 3 with a little noise; gradients likewise.
FakeSource falling(int ranks = 1) {
  FakeSource source = healthySource(ranks, kIterations);
  for (int rank = 0; rank < ranks; ++rank)
    for (int k = 0; k < kIterations; ++k) {
      const double noise = 0.02 * (k % 5);
      setTo(source, rank, k, "network/ReduceMean-op1", 3 - 0.01 * k + noise);
      for (const char* gradient : {"local_grad(network/fc/weight)", "grad(network/fc/weight)"})
        setTo(source, rank, k, gradient, 1 + noise);
    }
  return source;
}

watch::CheckReport asked(FakeSource& source, const std::string& text) {
  const auto watchpoint = watch::parseWatchpoint(text);
  REQUIRE(watchpoint.ok());
  return watch::check(source, {*watchpoint}, {});
}

}  // namespace

TEST_CASE("A spike is named at the first tensor that is out of its range") {
  FakeSource source = falling();
  CHECK(runRecommended(source, "statistic_spike").hints.empty());
  setTo(source, 0, kAt, "network/ReduceMean-op1", 4.5);
  setTo(source, 0, kAt, "network/fc/Gemm-op1", 100);
  const watch::CheckReport report = runRecommended(source, "statistic_spike");
  CHECK_FALSE(report.first);
  const watch::Hit& hit = only(report.hints);
  CHECK(hit.iteration == Iteration(kAt));
  CHECK(source.graph().tensor(hit.tensor).name == "network/fc/Gemm-op1");
  CHECK(hit.parameter == "loss_mad_gt");
  CHECK(hit.actual == 4.5);
  CHECK_THAT(hit.detail, Contains("usually 2.9") && Contains("out of its range is network/fc/Gemm-op1:0") &&
                             Contains("back to 2.71 in iteration 31"));
}

TEST_CASE("A spike that comes of what only its iteration computes is named there") {
  torch_program::Program p;
  const auto node = [&](const char* type, std::vector<TensorId> inputs, TensorRole role, Shape shape) {
    return p.node(type, "main", Phase::kForward, std::move(inputs),
                  torch_program::floats(role, "", std::move(shape)));
  };
  const TensorId clone = node("clone", {p.x}, TensorRole::kActivation, {8, 16}),
                 scaled = node("mul", {clone}, TensorRole::kActivation, {8, 16}),
                 y = node("mm", {clone, scaled}, TensorRole::kActivation, {8, 16}),
                 loss = node("mean", {y}, TensorRole::kLoss, {});
  FakeSource source(p.graph, 1, kIterations);
  for (int k = 0; k < kIterations; ++k) {
    const double size = (k == kAt ? 250 : 1) * (1 + 0.02 * (k % 5));
    source.record(Rank(0), Iteration(k), clone, torch_program::numbers({8, 16}, 1));
    if (k == kAt) source.record(Rank(0), Iteration(k), scaled, torch_program::numbers({8, 16}, 250));
    source.record(Rank(0), Iteration(k), y, torch_program::numbers({8, 16}, size));
    source.record(Rank(0), Iteration(k), loss, torch_program::numbers({}, 0, size));
  }
  const watch::Hit& hit = only(runRecommended(source, "statistic_spike").hints);
  CHECK(hit.tensor == scaled);
  CHECK_THAT(hit.detail, Contains("out of its range is main/mul-op1:0, which no iteration before has"));
}

TEST_CASE("A loss that stays up has no second spike, and one without history has none") {
  FakeSource source = falling();
  for (int k = kIterations - 5; k < kIterations; ++k) setTo(source, 0, k, "network/ReduceMean-op1", 6);
  CHECK_THAT(only(runRecommended(source, "statistic_spike").hints).detail,
             Contains("to the end of the run, 5 iterations"));
  for (int k = kAt; k < kIterations; ++k) setTo(source, 0, k, "network/ReduceMean-op1", 6);
  CHECK(runRecommended(source, "statistic_spike").hints.empty());  // another level, and no spike
  CHECK(asked(source, "statistic_spike").hints.size() == 1);
  FakeSource early = falling();
  setTo(early, 0, 10, "network/ReduceMean-op1", 6);
  CHECK(runRecommended(early, "statistic_spike").hints.empty());
}

TEST_CASE("Of few values one that is a hundred times the largest is a spike") {
  FakeSource source = falling();
  setTo(source, 0, 8, "network/ReduceMean-op1", 280);
  CHECK(runRecommended(source, "statistic_spike").hints.empty());
  setTo(source, 0, 8, "network/ReduceMean-op1", 320);
  setTo(source, 0, 8, "network/fc/Gemm-op1", 1e4);
  const watch::CheckReport report = runRecommended(source, "statistic_spike");
  CHECK_THAT(only(report.hints).detail,
             Contains("the loss is 320, at most 3.04 in the 8 iterations before") &&
                 Contains("network/fc/Gemm-op1:0"));
  FakeSource early = falling();
  setTo(early, 0, 4, "network/ReduceMean-op1", 1e6);
  CHECK(runRecommended(early, "statistic_spike").hints.empty());
}

TEST_CASE(
    "Values of another order of magnitude in one iteration are told where loss and gradients hide them") {
  FakeSource source = falling();
  const auto set = [&](int iteration, double size) {
    TensorStatistics& s = source.row(0, iteration, source.id("network/fc/Gemm-op1")).values;
    s.count = 64;
    s.l2 = 8 * size;
  };
  for (int k = 0; k < kIterations; ++k) set(k, 1 + 0.1 * (k % 3));
  CHECK(runRecommended(source, "statistic_spike").hints.empty());
  set(kAt, 1e6);
  const watch::CheckReport report = runRecommended(source, "statistic_spike");
  CHECK(only(report.hints).iteration == Iteration(kAt));
  CHECK_THAT(only(report.hints).detail,
             Contains("is 1e+06 in this iteration, and at most 1.2 in the 39 others"));
  set(kAt + 1, 1e6);  // twice: another level
  CHECK(runRecommended(source, "statistic_spike").hints.empty());
}

TEST_CASE("Where gradients are clipped by their norm, a spike is not told to clip them") {
  FakeSource source = falling();
  setTo(source, 0, kAt, "network/ReduceMean-op1", 4.5);
  const auto advice = [&] { return only(runRecommended(source, "statistic_spike").hints).advice; };
  CHECK_THAT(advice(), !Contains("are clipped by their norm already"));
  for (int k = 0; k < kIterations; ++k) source.setScalar(0, k, "gradient_norm", 1.4);  // of clip_grad_norm_()
  CHECK_THAT(advice(), Contains("are clipped by their norm already"));
}

TEST_CASE("The norm of gradients and any tensor can spike; NaN is none") {
  FakeSource source = falling();
  setTo(source, 0, kAt, "grad(network/fc/weight)", 40);
  const watch::CheckReport norm = runRecommended(source, "statistic_spike");
  CHECK(only(norm.hints).parameter == "norm_mad_gt");
  CHECK(source.graph().tensor(only(norm.hints).tensor).alias == "grad(network/fc/weight)");
  source.row(0, kAt, source.id("grad(network/fc/weight)")).values.nan = 1;
  CHECK(runRecommended(source, "statistic_spike").hints.empty());

  setTo(source, 0, kAt, "network/x", 9);
  CHECK_THAT(only(asked(source, "statistic_spike:tensor=network/x,abs_max_mad_gt=8").hints).detail,
             Contains("the max|x| is 9"));
  CHECK(asked(source, "statistic_spike:tensor=network/x,abs_max_mad_gt=1000").hints.empty());
}

TEST_CASE("A batch that comes again is a hint, unless epochs bring it or all are the same") {
  const auto hintsOf = [](const auto& batchOf, int ranks = 1) {
    FakeSource source = healthySource(ranks, kIterations);
    for (int rank = 0; rank < ranks; ++rank)
      for (int k = 0; k < kIterations; ++k)
        source.row(rank, k, source.id("network/x")).values.hash = {
            static_cast<std::uint64_t>(batchOf(rank, k)), 1};
    const watch::CheckReport report = runRecommended(source, "same_batch");
    CHECK_FALSE(report.first);
    return report.hints;
  };
  CHECK(hintsOf([](int, int k) { return k; }).empty());
  CHECK(hintsOf([](int, int k) { return k % 20; }).empty());                         // epochs
  CHECK(hintsOf([](int, int k) { return k < 20 ? k : (7 * k + 3) % 20; }).empty());  // shuffled ones
  CHECK(hintsOf([](int, int k) { return k / 4; }).empty());                          // each four times
  CHECK_THAT(only(hintsOf([](int, int) { return 0; })).detail, Contains("in every one of 40 iterations"));
  const watch::Hit again = only(hintsOf([](int, int k) { return k == kAt ? 4 : k; }));
  CHECK(again.iteration == Iteration(kAt));
  CHECK_THAT(again.detail, Contains("the batch of iteration 4 comes again"));
  // It began anew in iteration 10, as a loader does after a resume that forgot where it was.
  CHECK_THAT(only(hintsOf([](int, int k) { return k < 10 ? k : k - 10; })).detail,
             Contains("9 more batches"));
  const watch::Hit met = only(hintsOf([](int rank, int k) { return k == 7 ? 7 : 100 * rank + k; }, 2));
  CHECK(met.rank == Rank(1));
  CHECK_THAT(met.detail, Contains("reads the batch that rank 0 reads in this iteration"));
}

TEST_CASE("Gradients that overflow under a GradScaler are its business while its factor is above 1") {
  const auto checked = [](double scale, bool forward, int skips) {
    FakeSource source = healthySource(1, 10);
    for (int k = 4; k < 4 + skips; ++k) {
      source.row(0, k, source.id("local_grad(network/fc/weight)")).values.posInf = 1;
      if (forward) source.row(0, k, source.id("network/fc/Gemm-op1")).values.nan = 1;
      source.setScalar(0, k, "step_skipped", 1);
      source.setScalar(0, k, "loss_scale", scale);
    }
    return runRecommended(source, "nonfinite_propagation").first;
  };
  CHECK_FALSE(checked(32768, false, 1));
  CHECK_FALSE(checked(32768, false, 6));
  REQUIRE(checked(0.5, false, 6));
  CHECK(checked(0.5, false, 6)->iteration == Iteration(4));
  CHECK(checked(32768, true, 1));
}

}  // namespace msdbg::test
