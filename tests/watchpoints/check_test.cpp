// check() itself: order, selection, cancelling, progress, speed.
#include "watchpoints/check.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "tests/watchpoints/fake_source.h"
#include "tests/watchpoints/healthy_source.h"
#include "tests/watchpoints/recorded_training.h"
#include "tests/watchpoints/small_graph.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using msdbg::test::FakeSource;
using msdbg::test::recordTraining;

namespace {

const std::string kFault = "nan@iteration=4,rank=1,node=network/fc1/Gemm-op1";

}  // namespace

TEST_CASE("Hits are sorted by iteration, order and rank, and `first` is the first of them") {
  const auto source = recordTraining({.faults = {kFault}});
  const CheckReport report = check(*source, recommendedSet(), {});
  REQUIRE(report.hits.size() > 10);
  for (std::size_t i = 1; i < report.hits.size(); ++i) {
    const Hit &a = report.hits[i - 1], &b = report.hits[i];
    CHECK(std::pair(a.iteration, a.order) <= std::pair(b.iteration, b.order));
  }
  CHECK(report.first->tensor == report.hits.front().tensor);
  CHECK(report.first->condition == report.hits.front().condition);
  CHECK_FALSE(report.cancelled);
}

TEST_CASE("Only selected ranks and iterations are judged") {
  const auto source = recordTraining({.faults = {kFault}});
  CheckOptions options;
  options.iterations = IndexList::parse("0-3").value();
  CHECK_FALSE(check(*source, recommendedSet(), options).first);
  options.iterations = IndexList::all();
  options.ranks = {Rank(0)};
  const CheckReport report = check(*source, recommendedSet(), options);
  REQUIRE(report.firstPerRank.size() == 1);
  CHECK(report.first->rank == Rank(0));
  CHECK(report.first->detail.find("received from rank 1") == 0);
}

TEST_CASE("After the iteration of the fault the parameters are named, with what is known of their update") {
  const auto source = recordTraining({.faults = {kFault}});
  CheckOptions options;
  options.iterations = IndexList::parse("6-").value();
  const CheckReport report = check(*source, recommendedSet(), options);
  REQUIRE(report.first);
  CHECK(report.first->order == -1);
  CHECK(report.first->iteration == Iteration(6));
  CHECK(report.first->detail.find("the update of iteration 5 is not recorded or not selected") !=
        std::string::npos);
}

TEST_CASE("A cancelled check stops and says so; progress goes from 0 to 1 and never back") {
  const auto source = recordTraining({});
  CheckOptions options;
  double last = 0;
  bool forward = true;
  options.progress = [&](double share) {
    forward &= share >= last - 1e-12;
    last = share;
  };
  CHECK_FALSE(check(*source, recommendedSet(), options).cancelled);
  CHECK(forward);
  CHECK(last == Approx(1));
  options.progress = [&](double) { options.cancel.cancel(); };
  const CheckReport report = check(*source, recommendedSet(), options);
  CHECK(report.cancelled);
}

TEST_CASE("The report is the same every time") {
  const auto source = recordTraining({.faults = {kFault}});
  const auto text = [&] {
    std::string all;
    const CheckReport report = check(*source, recommendedSet(), {});
    for (const auto* hits : {&report.hits, &report.hints})
      for (const Hit& hit : *hits)
        all += std::string(hit.condition->id) + std::to_string(hit.order) + hit.detail +
               std::to_string(hit.rank.value) + "\n";
    return all;
  };
  CHECK(text() == text());
}

TEST_CASE("The later iterations of a hit are told as runs, five of them at most") {
  FakeSource source = msdbg::test::healthySource(1, 40);
  const TensorId relu = source.id("network/fc/Relu-op1");
  const auto saidWith = [&](std::initializer_list<int> dead) {
    for (int k = 0; k < 40; ++k)
      source.row(0, k, relu).activation =
          ActivationStatistics{std::ranges::count(dead, k) > 0 ? 1.0 : 0.5, 0};
    const CheckReport report = msdbg::test::runRecommended(source, "activation_range");
    REQUIRE(report.hints.size() == 1);
    return report.hints.front().detail;
  };
  const std::string silent = "100 % of its elements are 0: it is silent, and passes no gradient; ";
  CHECK(saidWith({3, 4}) == silent + "also in 1 more iteration (4)");
  CHECK(saidWith({3, 4, 5, 6, 9, 11, 12, 20, 30}) ==
        silent + "also in 8 more iterations (4-6,9,11-12,20,30)");
  CHECK(saidWith({3, 4, 5, 6, 9, 11, 12, 20, 30, 31, 33, 35}) ==
        silent + "also in 11 more iterations (4-6,9,11-12,20,30-31,…)");
}

TEST_CASE("An empty source gives an empty report") {
  FakeSource source(msdbg::test::modelGraph(), 2, 3);
  const CheckReport report = check(source, recommendedSet(), {});
  CHECK_FALSE(report.first);
  CHECK(report.evaluated == 0);
}

TEST_CASE("A thousand iterations of two ranks are judged in a few seconds", "[slow]") {
  const auto trained = recordTraining({.iterations = 1000});
  trained->loseValues();
  const auto start = std::chrono::steady_clock::now();
  const CheckReport report = check(*trained, recommendedSet(), {});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  WARN(report.evaluated << " answers in " << took.count() << " s");
  CHECK(took.count() < 20);  // sanitizers included
  CHECK(report.hits.empty());
}
