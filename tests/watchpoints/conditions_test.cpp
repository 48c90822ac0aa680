// Conditions one by one, on rows set by hand; expected numbers follow from the formulas.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/train/layers.h"
#include "tests/watchpoints/healthy_source.h"
#include "watchpoints/conditions/targets.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using msdbg::test::FakeSource;
using msdbg::test::healthySource;
using msdbg::test::only;
using msdbg::test::runRecommended;

namespace {

CheckReport run(FakeSource& source, const std::string& watchpoint, const CheckOptions& options = {}) {
  const auto parsed = parseWatchpoint(watchpoint);
  if (!parsed) FAIL(parsed.error().message());
  return check(source, {*parsed}, options);
}

CheckOptions onlyIteration(std::int64_t iteration) {
  CheckOptions options;
  options.iterations = IndexList({{iteration, iteration}});
  return options;
}

bool hasReason(const CheckReport& report, const std::string& reason) {
  return std::ranges::any_of(report.notEvaluable, [&](const NotEvaluable& n) { return n.reason == reason; });
}

const std::string kRelu = "network/fc/Relu-op1", kNext = "next(network/fc/weight)",
                  kGradient = "local_grad(network/fc/weight)";

}  // namespace

TEST_CASE("tensor_overflow counts NaN and Inf of any tensor") {
  FakeSource source = healthySource(1, 3);
  source.row(0, 1, source.id(kRelu)).values.nan = 2;
  source.row(0, 1, source.id(kRelu)).values.negInf = 1;
  source.row(0, 2, source.id(kRelu)).values.nan = 1;
  const CheckReport report = run(source, "tensor_overflow");
  const Hit& hit = only(report.hits);
  CHECK(hit.iteration == Iteration(1));
  CHECK(hit.count == 3);
  CHECK(hit.detail == "2 NaN, 0 +Inf, 1 -Inf of 8; also in 1 more iteration (2)");
}

TEST_CASE("A parameter that is wrong is blamed on the update that made it, if that is recorded") {
  FakeSource source = healthySource(1, 4);
  source.row(0, 1, source.id(kNext)).values.nan = 1;
  source.row(0, 2, source.id("network/fc/weight")).values.nan = 1;
  const CheckReport known = run(source, "nonfinite_propagation");
  CHECK(only(known.hits).tensor == source.id(kNext));

  source.loseIteration(0, 1);
  const CheckReport lost = run(source, "nonfinite_propagation");
  const Hit& hit = only(lost.hits);
  CHECK(hit.tensor == source.id("network/fc/weight"));
  CHECK(hit.order == -1);
  CHECK(hit.detail.find("the update of iteration 1 is not recorded") != std::string::npos);
}

TEST_CASE("nonfinite_propagation says between which recorded tensors the origin lies") {
  FakeSource source = healthySource(1, 1);
  source.row(0, 0, source.id(kRelu)).values.nan = 1;
  source.loseRow(0, 0, source.id("network/fc/Gemm-op1"));
  CHECK(only(run(source, "nonfinite_propagation").hits)
            .detail.find("at or before " + kRelu + "; nothing recorded between network/") == 0);
  source.row(0, 0, source.id("network/x")).values.posInf = 1;
  const CheckReport report = run(source, "nonfinite_propagation");
  CHECK(only(report.hits).tensor == source.id("network/x"));
}

TEST_CASE("A collective with a rank that is not recorded cannot be blamed for certain") {
  FakeSource source = healthySource(1, 1);
  source.setRankCount(2);
  source.row(0, 0, source.id("grad(network/fc/weight)")).values.nan = 1;
  CHECK(only(run(source, "nonfinite_propagation").hits).detail.find("not every rank is recorded") !=
        std::string::npos);
}

TEST_CASE("gradient_vanishing takes any of its thresholds and names the one exceeded") {
  FakeSource source = healthySource(1, 1);
  source.row(0, 0, source.id(kGradient)).values.meanAbs = 1e-10;
  const CheckReport report = run(source, "gradient_vanishing:max_lt=-3,abs_mean_lt=1e-9");
  const Hit& hit = only(report.hits);
  CHECK(hit.parameter == "abs_mean_lt");
  CHECK(hit.preset == 1e-9);
  CHECK(hit.actual == 1e-10);
  CHECK(run(source, "gradient_vanishing:abs_mean_lt=1e-10").hits.empty());  // < is strict
  CHECK(run(source, "gradient_vanishing:mean_lt=2").hits.size() == 2);
}

TEST_CASE("A threshold condition does not judge a tensor that holds NaN or Inf, and says so") {
  FakeSource source = healthySource(1, 5);
  for (int k = 0; k < 5; ++k) source.row(0, k, source.id(kGradient)).values.nan = 1;
  source.row(0, 0, source.id(kGradient)).values.meanAbs = 0;
  const CheckReport report = run(source, "gradient_vanishing:abs_mean_lt=1e-9");
  CHECK(report.hits.empty());
  REQUIRE(report.notEvaluable.size() == 1);
  CHECK(report.notEvaluable[0].reason == "nan");
  CHECK(report.notEvaluable[0].condition == "gradient_vanishing");
  CHECK(report.notEvaluable[0].count == 5);
  CHECK_FALSE(report.notEvaluable[0].iteration.valid());
  CHECK(report.evaluated == 5);  // the reduced gradient
}

TEST_CASE("tensor_all_zero skips what is zero-initialised until its first update, in the recommended set") {
  FakeSource source = healthySource(1, 2);
  source.row(0, 0, source.id("network/fc/bias")).values.zero = 2;
  CHECK(runRecommended(source, "tensor_all_zero").hits.empty());
  CHECK(runRecommended(source, "weight_initialization").hits.empty());
  CHECK(run(source, "tensor_all_zero").hits.size() == 1);
  CHECK(run(source, "weight_initialization").hits.size() == 1);
  source.row(0, 0, source.id("network/fc/weight")).values.zero = 6;
  CHECK(only(runRecommended(source, "weight_initialization").hits).tensor == source.id("network/fc/weight"));
  source.row(0, 1, source.id(kRelu)).values.zero = 4;
  CHECK(run(source, "tensor_all_zero:zero_percentage_ge=50").hits.size() == 3);
}

TEST_CASE("weight_initialization looks at iteration 0 only, and says when that is not recorded") {
  FakeSource source = healthySource(1, 2);
  source.row(0, 1, source.id("network/fc/weight")).values.max = 9;
  CHECK(run(source, "weight_initialization:max_gt=5").hits.empty());
  source.row(0, 0, source.id("network/fc/weight")).values.max = 9;
  CHECK(only(run(source, "weight_initialization:max_gt=5").hits).actual == 9);
  source.loseIteration(0, 0);
  CHECK(hasReason(run(source, "weight_initialization"), "no_value"));
}

TEST_CASE("weight_not_changed uses the recorded tolerance, and stored values for any other") {
  FakeSource source = healthySource(1, 2);
  source.row(0, 1, source.id(kNext)).change->outsideTolerance = 0;
  CHECK(only(run(source, "weight_not_changed").hits).iteration == Iteration(1));
  CHECK(hasReason(run(source, "weight_not_changed:rtol=0.1"), "no_value"));

  const float before[] = {1, 2, 3, 4, 5, 6}, after[] = {1.05f, 2, 3, 4, 5, 6};
  const Tensor p = Tensor::of<float>({2, 3}, before), x = Tensor::of<float>({2, 3}, after);
  source.record(Rank(0), Iteration(0), source.id("network/fc/weight"), p);
  source.record(Rank(0), Iteration(0), source.id(kNext), x, &p);
  const CheckReport loose = run(source, "weight_not_changed:rtol=0.1", onlyIteration(0));
  CHECK(only(loose.hits).tensor == source.id(kNext));
  CHECK(run(source, "weight_not_changed:rtol=0.01", onlyIteration(0)).hits.empty());
}

TEST_CASE("Weights are not expected to change between two updates of accumulated gradients") {
  FakeSource source = healthySource(1, 6, "Relu", {{"every", std::int64_t{3}}});
  for (const int k : {0, 1, 3, 4})
    source.row(0, k, source.id(kNext)).change = ChangeStatistics{0, 0, 1, 0, 0};
  const CheckReport fine = run(source, "weight_not_changed");
  CHECK(fine.hits.empty());
  CHECK(fine.notEvaluable.empty());
  CHECK(fine.evaluated == 4);  // two updates of two parameters
  CHECK(run(source, "weight_change_too_small:abs_mean_update_ratio_lt=1e-9").hits.empty());
  source.row(0, 5, source.id(kNext)).change = ChangeStatistics{0, 0, 1, 0, 0};
  CHECK(only(run(source, "weight_not_changed").hits).iteration == Iteration(5));
}

TEST_CASE("weight_change_too_large is the ratio of means, strictly above the threshold") {
  FakeSource source = healthySource(1, 2);
  source.row(0, 1, source.id(kNext)).change = ChangeStatistics{3, 4, 2, 6, 0};
  const CheckReport report = run(source, "weight_change_too_large:abs_mean_update_ratio_gt=1,epsilon=0");
  CHECK(only(report.hits).actual == 1.5);
  CHECK(run(source, "weight_change_too_large:abs_mean_update_ratio_gt=1.5,epsilon=0").hits.empty());
  CHECK(run(source, "weight_change_too_small:abs_mean_update_ratio_lt=0.5").hints.size() == 2);
}

TEST_CASE("The bias of a layer whose weights are drawn small is measured on what is usual for them") {
  FakeSource source = healthySource(1, 1);  // three inputs: 0.5 / sqrt(3) is 0.289
  source.row(0, 0, source.id("network/fc/weight")).values.meanAbs = 0.001;
  source.row(0, 0, source.id("next(network/fc/bias)")).change = ChangeStatistics{0.2, 0.2, 0, 2, 0};
  CHECK(runRecommended(source, "weight_change_too_large").hits.empty());
  source.row(0, 0, source.id("next(network/fc/bias)")).change = ChangeStatistics{0.4, 0.4, 0, 2, 0};
  CHECK(only(runRecommended(source, "weight_change_too_large").hits).actual == Approx(0.8 * std::sqrt(3)));
}

TEST_CASE(
    "In the recommended set a bias is measured on its layer's weight, and a scale of zero is not judged") {
  FakeSource source = healthySource(1, 1);
  source.row(0, 0, source.id("network/fc/weight")).values.meanAbs = 0.5;
  source.row(0, 0, source.id("next(network/fc/bias)")).change = ChangeStatistics{0.4, 0.4, 0, 2, 0};
  CHECK(runRecommended(source, "weight_change_too_large").hits.empty());
  source.row(0, 0, source.id("next(network/fc/bias)")).change = ChangeStatistics{1, 1, 0, 2, 0};
  CHECK(only(runRecommended(source, "weight_change_too_large").hits).actual == Approx(2));
  source.row(0, 0, source.id(kNext)).change = ChangeStatistics{1, 1, 0, 6, 0};
  CHECK(hasReason(runRecommended(source, "weight_change_too_large"), "zero_previous"));
}

TEST_CASE("A bias belongs to the weight or the scale that its node reads before it") {
  Graph g("network");
  Value x = g.input("x", {4, 3, 5, 5});
  {
    const Scope scope = g.scope("stem");
    x = batchNorm(conv(x, {.out = 2, .kernel = 3, .bias = false}));
  }
  x = flatten(x);
  {
    const Scope scope = g.scope("norm");
    x = layerNorm(x);
  }
  {
    const Scope scope = g.scope("fc");
    x = linear(x, {.out = 2});
  }
  const auto weightOf = [&](const char* bias) { return layerWeight(g, *g.findTensor(bias)); };
  CHECK(weightOf("network/stem/bias") == *g.findTensor("network/stem/scale"));
  CHECK(weightOf("network/norm/bias") == *g.findTensor("network/norm/scale"));
  CHECK(weightOf("network/fc/bias") == *g.findTensor("network/fc/weight"));
  CHECK_FALSE(weightOf("network/fc/weight").valid());
  CHECK_FALSE(weightOf("network/norm/scale").valid());
}

TEST_CASE("activation_range uses the recorded share for the function's own range, else stored values") {
  FakeSource source = healthySource(1, 1, "Tanh");
  const TensorId tanh = source.id("network/fc/Tanh-op1");
  source.row(0, 0, tanh).activation = ActivationStatistics{0.0005, 0};
  CHECK(only(runRecommended(source, "activation_range").hints).actual == Approx(0.05));
  const std::string custom =
      "activation_range:range_start_inclusive=0,range_end_inclusive=1,range_percentage_gt=60";
  CHECK(hasReason(run(source, custom), "no_value"));
  const float values[] = {0, 0.5f, 1, 1.5f, -1, 0.25f, 0.75f, 2};  // 5 of 8 inside: 62.5 %
  source.record(Rank(0), Iteration(0), tanh, Tensor::of<float>({4, 2}, values));
  CHECK(only(run(source, custom).hints).actual == 62.5);
  CHECK(only(run(source, "activation_range:max_min_gt=2.5").hints).actual == 3);
  CHECK(run(source, "activation_range:max_min_gt=3").hints.empty());
}

TEST_CASE("The preset ranges are those of the specification") {
  CHECK(activationPreset("Tanh")->end == Approx(std::tanh(8.8)).epsilon(1e-15));
  CHECK(activationPreset("Sigmoid")->start == Approx(1 / (1 + std::exp(16.2))).epsilon(1e-14));
  CHECK(activationPreset("Sigmoid")->end == Approx(1 / (1 + std::exp(-16.2))).epsilon(1e-15));
  CHECK_FALSE(activationPreset("Softmax"));
}

TEST_CASE("In the recommended set a Relu is dead if all of it stays zero to the end") {
  const auto deadIn = [](FakeSource& source, std::initializer_list<int> iterations) {
    for (const int k : iterations) {
      StatisticsRow& row = source.row(0, k, source.id(kRelu));
      row.activation->shareDeadUnits = 1;
      row.values.zero = row.values.count;
    }
  };
  FakeSource died = healthySource(1, 5);
  deadIn(died, {2, 3, 4});
  const CheckReport report = runRecommended(died, "dead_relu");
  CHECK(only(report.hits).iteration == Iteration(2));
  CHECK(report.hits[0].detail.find("alive in iteration 1") != std::string::npos);
  CHECK(run(died, "dead_relu").hits.size() == 1);
  CHECK(run(died, "dead_relu:threshold_layer=100").hits.empty());

  FakeSource once = healthySource(1, 5);  // a batch that silences the layer, and the last two
  deadIn(once, {1, 3, 4});
  CHECK(runRecommended(once, "dead_relu").hits.empty());

  FakeSource always = healthySource(1, 2);
  deadIn(always, {0, 1});
  CHECK(only(runRecommended(always, "dead_relu").hits).iteration == Iteration(0));
  always.row(0, 1, always.id(kRelu)).values.zero -= 1;  // a few elements are left
  CHECK(runRecommended(always, "dead_relu").hits.empty());
}

TEST_CASE("dead_relu with another inactivity counts units in stored values") {
  FakeSource source = healthySource(1, 1);
  CHECK(hasReason(run(source, "dead_relu:threshold_inactivity=40"), "no_value"));
  const float values[] = {1, 0, 0, 1, 0, 1, 0, 1};  // unit 0 active in 1 of 4 elements, unit 1 in 3
  source.record(Rank(0), Iteration(0), source.id(kRelu), Tensor::of<float>({4, 2}, values));
  CHECK(only(run(source, "dead_relu:threshold_inactivity=40,threshold_layer=40").hits).actual == 50);
}

TEST_CASE("loss_not_decreasing compares with the loss num_steps ago") {
  FakeSource source = healthySource(1, 6);
  const TensorId loss = source.id("network/ReduceMean-op1");
  const double losses[] = {10, 9, 8, 8, 8, 20};
  for (int k = 0; k < 6; ++k) source.row(0, k, loss).values.mean = losses[k];
  CheckReport report = run(source, "loss_not_decreasing:num_steps=2");
  CHECK(only(report.hints).iteration == Iteration(4));
  CHECK(report.hints[0].parameter == "diff_percent");
  CHECK(hasReason(report, "no_previous"));
  report = run(source, "loss_not_decreasing:num_steps=2,diff_percent=0");
  CHECK(only(report.hints).parameter == "increase_threshold_percent");
  CHECK(report.hints[0].actual == 150);
}

TEST_CASE("A thinned iteration is not recorded, never healthy, and ten of them are not one step") {
  FakeSource source = healthySource(1, 12);
  const TensorId loss = source.id("network/ReduceMean-op1"), relu = source.id(kRelu);
  for (int k = 0; k < 12; ++k) {
    source.row(0, k, loss).values.mean = 100 - 5 * k;
    source.row(0, k, relu).values.mean = 100 - 5 * k;
  }
  for (int k = 1; k < 10; ++k) source.thin(0, k, 100 - 5 * k);
  const CheckReport zeros = run(source, "tensor_all_zero");
  CHECK(zeros.hits.empty());
  CHECK(hasReason(zeros, "thinned"));
  CHECK_FALSE(hasReason(zeros, "no_value"));
  // Iteration 10 is compared with 9, not with 0: it fell by a tenth in one step, not by half in one.
  const std::string fell = "loss_not_decreasing:num_steps=1,diff_percent=60";
  CHECK(only(run(source, fell).hints).iteration == Iteration(1));
  const CheckReport other = run(source, fell + ",tensor=network/fc/Relu-op1");
  CHECK(only(other.hints).iteration == Iteration(11));
  CHECK(hasReason(other, "no_previous"));
}

TEST_CASE("In the recommended set a loss that falls on average is no hint, one that stands still is") {
  FakeSource source = healthySource(1, 40);
  const TensorId loss = source.id("network/ReduceMean-op1");
  for (int k = 0; k < 40; ++k) source.row(0, k, loss).values.mean = 10 - 0.1 * k + (k % 2);
  CHECK(runRecommended(source, "loss_not_decreasing").hints.empty());
  for (int k = 20; k < 40; ++k) source.row(0, k, loss).values.mean = 8;  // it has fallen, and stands since
  CHECK(runRecommended(source, "loss_not_decreasing").hints.empty());
  for (int k = 0; k < 40; ++k) source.row(0, k, loss).values.mean = 8 + 0.01 * (k % 3);
  const CheckReport report = runRecommended(source, "loss_not_decreasing");
  CHECK(only(report.hints).iteration == Iteration(30));
  CHECK(report.hints[0].detail.find("over the first 10 iterations") != std::string::npos);
}

TEST_CASE("A loss that stands still sends to the learning rate where the weights do too, else to the data") {
  const auto adviceWhere = [](double step) {
    FakeSource source = healthySource(1, 40);
    for (int k = 0; k < 40; ++k) {
      source.row(0, k, source.id("network/ReduceMean-op1")).values.mean = 8 + 0.01 * (k % 3);
      source.row(0, k, source.id(kNext)).change = ChangeStatistics{step, step, 1, 1, 0};
    }
    return std::string(only(runRecommended(source, "loss_not_decreasing").hints).whatNext());
  };
  CHECK(adviceWhere(1e-2).starts_with("Look at a few samples"));
  CHECK(adviceWhere(1e-6).starts_with("Look at the learning rate first"));
}

TEST_CASE("rank_divergence tells input data from memory from local compute") {
  const auto detailWhere = [](const std::string& tensor, int iteration, int differsFrom = -1) {
    FakeSource source = healthySource(2, 4);
    source.row(1, iteration, source.id(tensor)).values.hash = {99, 99};
    if (differsFrom >= 0) source.row(1, differsFrom, source.id(kNext)).values.hash = {98, 98};
    return only(run(source, "rank_divergence").hits).detail;
  };
  CHECK(detailWhere("network/fc/weight", 0).find("the initial values differ") != std::string::npos);
  CHECK(detailWhere("network/fc/weight", 2).find("memory: it was equal after the update of iteration 1") !=
        std::string::npos);
  CHECK(detailWhere(kNext, 2).find("local compute") != std::string::npos);
  CHECK(detailWhere("grad(network/fc/weight)", 2).find("the collective") != std::string::npos);
  CHECK(detailWhere("network/fc/weight", 3, 2).find("1 other replicated tensors") != std::string::npos);
}

TEST_CASE("collective_mismatch finds a wrong sum in values; statistics only prove wrong sums wrong") {
  FakeSource source = healthySource(2, 1);
  const TensorId local = source.id(kGradient), reduced = source.id("grad(network/fc/weight)");
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 1, 1, 1, 1, 1}, sum[] = {2, 3, 4, 5, 6, 7},
              wrong[] = {2, 3, 4, 9, 6, 7};
  source.record(Rank(0), Iteration(0), local, Tensor::of<float>({2, 3}, a));
  source.record(Rank(1), Iteration(0), local, Tensor::of<float>({2, 3}, b));
  for (int rank : {0, 1}) source.record(Rank(rank), Iteration(0), reduced, Tensor::of<float>({2, 3}, sum));
  CHECK(run(source, "collective_mismatch").hits.empty());
  source.record(Rank(1), Iteration(0), reduced, Tensor::of<float>({2, 3}, wrong));
  const CheckReport report = run(source, "collective_mismatch");
  const Hit& hit = only(report.hits);
  CHECK(hit.rank == Rank(1));
  CHECK(hit.element == 3);
  CHECK(hit.count == 1);
  CHECK(hit.actual == 9);
  CHECK(hit.preset == 5);
  source.loseValues();
  const CheckReport statistics = run(source, "collective_mismatch");
  CHECK(only(statistics.hits).rank == Rank(1));
  CHECK(hasReason(statistics, "no_value"));
}
