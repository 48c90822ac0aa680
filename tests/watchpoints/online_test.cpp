// Watchpoints evaluated one iteration and one rank at a time against check() on the finished run.
#include "watchpoints/online.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "tests/watchpoints/recorded_training.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using msdbg::test::FakeSource;
using msdbg::test::recordTraining;

namespace {

/// One rank of a run as it is seen at the end of one iteration.
class OneIteration : public Source {
 public:
  OneIteration(FakeSource& run, Rank rank, Iteration now) : m_run(run), m_rank(rank), m_now(now) {}
  const Graph& graph() const override { return m_run.graph(); }
  std::vector<Rank> ranks() const override { return {m_rank}; }
  int rankCount() const override { return m_run.rankCount(); }
  std::vector<Iteration> iterations(Rank) const override { return {m_now}; }
  const StatisticsRow* statistics(Rank rank, Iteration iteration, TensorId tensor) override {
    const bool known = rank == m_rank && (iteration == m_now || iteration.value == m_now.value - 1);
    return known ? m_run.statistics(rank, iteration, tensor) : nullptr;
  }
  Result<Tensor> value(Rank, Iteration, TensorId) override { return Error(ErrorCode::kUnavailable, "none"); }
  bool stored(Rank, Iteration, TensorId) const override { return false; }
  std::optional<double> scalar(Rank, Iteration, const std::string&) override { return std::nullopt; }

 private:
  FakeSource& m_run;
  Rank m_rank;
  Iteration m_now;
};

Watchpoint parsed(const std::string& text) {
  auto watchpoint = parseWatchpoint(text);
  REQUIRE(watchpoint.ok());
  return std::move(watchpoint).value();
}

/// Online it is told when it has lasted, not in the iteration where it begins; or only where training hardly
/// ever recovers.
bool decidedByTheEnd(const Watchpoint& watchpoint) {
  return watchpoint.recommended &&
         (watchpoint.condition->id == "dead_relu" || watchpoint.condition->id == "weight_change_too_large");
}

/// Every condition that can be asked online, with its defaults and as the recommended set has it, and some
/// with other parameters.
std::vector<Watchpoint> everything() {
  std::vector<Watchpoint> all = recommendedSet();
  for (const char* text :
       {"tensor_overflow", "nonfinite_propagation", "tensor_all_zero",
        "tensor_all_zero:zero_percentage_ge=40", "gradient_vanishing:abs_mean_lt=0.02",
        "weight_initialization:max_gt=0.5", "weight_not_changed", "weight_change_too_large",
        "weight_change_too_large:abs_mean_update_ratio_gt=0.004",
        "weight_change_too_small:abs_mean_update_ratio_lt=0.004", "activation_range:max_min_gt=1.5",
        "dead_relu", "dead_relu:threshold_layer=5", "loss_not_decreasing:num_steps=2",
        "loss_not_decreasing:num_steps=1"})
    all.push_back(parsed(text));
  std::erase_if(all, [](const Watchpoint& w) { return !whyNotOnline(w).empty() || decidedByTheEnd(w); });
  return all;
}

/// (rank, condition as asked, tensor) -> first iteration.
using Firsts = std::map<std::tuple<Rank, std::string, TensorId>, Iteration>;

Firsts online(FakeSource& run, const std::vector<Watchpoint>& watchpoints) {
  Firsts firsts;
  for (const Rank rank : run.ranks()) {
    for (const Watchpoint& watchpoint : watchpoints) {
      OnlineCheck check({watchpoint});
      for (const Iteration now : run.iterations(rank)) {
        OneIteration source(run, rank, now);
        for (const Hit& hit : check.evaluate(source)) {
          CHECK(hit.iteration == now);
          firsts.try_emplace({rank, watchpoint.argument(), hit.tensor}, now);
        }
      }
    }
  }
  return firsts;
}

/// Each rank alone, as online: of several, the recommended set names what is equal on them once.
Firsts offline(FakeSource& run, const std::vector<Watchpoint>& watchpoints) {
  run.loseValues();
  Firsts firsts;
  const auto add = [&](const Watchpoint& watchpoint, const std::vector<Hit>& hits) {
    for (const Hit& hit : hits) {
      const auto [place, isNew] =
          firsts.try_emplace({hit.rank, watchpoint.argument(), hit.tensor}, hit.iteration);
      place->second = std::min(place->second, hit.iteration);
    }
  };
  for (const Watchpoint& watchpoint : watchpoints) {
    for (const Rank rank : run.ranks()) {
      const CheckReport report = check(run, {watchpoint}, {.ranks = {rank}});
      add(watchpoint, report.hits);
      if (!watchpoint.recommended) add(watchpoint, report.hints);
    }
  }
  return firsts;
}

std::vector<std::string> texts(const FakeSource& run, const Firsts& firsts) {
  std::vector<std::string> lines;
  for (const auto& [key, iteration] : firsts)
    lines.push_back("rank " + std::to_string(std::get<0>(key).value) + ", " + std::get<1>(key) + ", " +
                    run.graph().tensor(std::get<2>(key)).fullName() + ", iteration " +
                    std::to_string(iteration.value));
  return lines;
}

const std::vector<std::string> kFaults = {
    "nan@iteration=0,rank=1,node=network/conv1/Conv-op1",
    "nan@iteration=5,rank=1,node=network/fc1/Gemm-op1",
    "inf@iteration=8,node=network/fc2/Gemm-op1",
    "bitflip@iteration=4,rank=0,node=update/network/fc1/SgdUpdate-op1",
    "zero_grad@iteration=3,rank=0,node=grad/network/fc1/GemmGradWeight-op1",
    "stale_weight@iteration=5,rank=1",
    "skip_allreduce@iteration=2,rank=0",
    "dead_relu@iteration=4",
    "lr@iteration=6,scale=1000",
};

/// The fault at the first node of the graph that it can hit, where none is named or the name is another.
std::unique_ptr<FakeSource> recorded(const std::string& fault, int ranks) {
  try {
    return recordTraining({.ranks = ranks, .faults = {fault}});
  } catch (const std::runtime_error&) {
  }
  const auto clean = recordTraining({.ranks = ranks, .iterations = 1});
  const std::string bare = fault.substr(0, fault.find(",node="));
  for (const Node& node : clean->graph().nodes()) {
    try {
      return recordTraining({.ranks = ranks, .faults = {bare + ",node=" + node.name}});
    } catch (const std::runtime_error&) {
    }
  }
  return nullptr;
}

}  // namespace

TEST_CASE("Asked while training goes on, every condition first hits where check finds it afterwards") {
  const std::vector<Watchpoint> watchpoints = everything();
  std::size_t hits = 0;
  for (const std::string& fault : kFaults) {
    for (const int ranks : {1, 2}) {
      if (ranks == 1 && (fault.find("rank=1") != std::string::npos || fault.starts_with("skip"))) continue;
      CAPTURE(fault, ranks);
      const auto run = recorded(fault, ranks);
      REQUIRE(run);
      const Firsts found = online(*run, watchpoints);
      CHECK(texts(*run, found) == texts(*run, offline(*run, watchpoints)));
      hits += found.size();
    }
  }
  CHECK(hits > 100);
}

TEST_CASE("A loss that stands still is told at the same iterations online") {
  const auto run = recordTraining({.ranks = 1, .iterations = 60});
  const auto& tensors = run->graph().tensors();
  const TensorId loss = std::ranges::find(tensors, TensorRole::kLoss, &TensorInfo::role)->id;
  for (int i = 0; i < 60; ++i) run->row(0, i, loss).values.mean = i < 25 ? 3 - 0.1 * i : 0.6;
  const std::vector<Watchpoint> watchpoints = {parsed("loss_not_decreasing:num_steps=7")};
  const Firsts found = online(*run, watchpoints);
  CHECK(found.at({Rank(0), watchpoints[0].argument(), loss}).value == 31);  // 7 after the fall ended
  CHECK(texts(*run, found) == texts(*run, offline(*run, watchpoints)));
}

TEST_CASE("A layer that dies is told online when it has been dead for three iterations") {
  const auto run = recordTraining({.ranks = 1, .iterations = 9, .faults = {"dead_relu@iteration=4"}});
  OnlineCheck check({parsed("dead_relu:recommended")});
  std::vector<std::int64_t> told;
  for (const Iteration now : run->iterations(Rank(0))) {
    OneIteration source(*run, Rank(0), now);
    for (const Hit& hit : check.evaluate(source)) told.push_back(hit.iteration.value);
  }
  CHECK(told == std::vector<std::int64_t>{7});  // its bias was spoilt by the update of 4
  const CheckReport report = msdbg::watch::check(*run, {parsed("dead_relu:recommended")}, {});
  REQUIRE(report.first);
  CHECK(report.first->iteration == Iteration(5));
}

TEST_CASE("A large step is told online only where training hardly ever recovers from it") {
  const auto firstHit = [](double ratio) -> std::int64_t {
    const auto run = recordTraining({.ranks = 1, .iterations = 4});
    const TensorId next = run->id("next(network/fc1/weight)");
    const double size = run->row(0, 2, next).values.meanAbs;
    run->row(0, 2, next).change = ChangeStatistics{ratio * size, 2 * ratio * size, size, 6, 0};
    OnlineCheck check({parsed("weight_change_too_large:recommended")});
    for (const Iteration now : run->iterations(Rank(0))) {
      OneIteration source(*run, Rank(0), now);
      if (!check.evaluate(source).empty()) return now.value;
    }
    return -1;
  };
  CHECK(firstHit(3) == -1);
  CHECK(firstHit(30) == 2);
}

TEST_CASE("A hit that goes on is told where it begins, and again after a pause") {
  const auto run = recordTraining({.ranks = 1, .iterations = 6});
  const TensorId weight = run->id("network/fc1/weight");
  for (const int iteration : {1, 2, 4}) run->row(0, iteration, weight).values.nan = 1;
  for (int i = 0; i < 6; ++i) run->loseRow(0, i, run->id("next(network/fc1/weight)"));
  OnlineCheck check({parsed("tensor_overflow")});
  std::vector<std::int64_t> told;
  for (const Iteration now : run->iterations(Rank(0))) {
    OneIteration source(*run, Rank(0), now);
    for (const Hit& hit : check.evaluate(source)) told.push_back(hit.iteration.value);
  }
  CHECK(told == std::vector<std::int64_t>{1, 4});
}

TEST_CASE("What needs values or all ranks is refused online, with a reason") {
  CHECK(whyNotOnline(parsed("rank_divergence")) == "needs the statistics of all ranks in one place");
  CHECK_FALSE(whyNotOnline(parsed("collective_mismatch")).empty());
  CHECK_FALSE(whyNotOnline(parsed("weight_not_changed:rtol=0.1")).empty());
  CHECK_FALSE(whyNotOnline(parsed("dead_relu:threshold_inactivity=3")).empty());
  CHECK_FALSE(whyNotOnline(parsed("activation_range:range_start_inclusive=0,range_end_inclusive=1,"
                                  "range_percentage_gt=50"))
                  .empty());
  CHECK(whyNotOnline(parsed("activation_range:recommended")).empty());
  CHECK(whyNotOnline(parsed("weight_not_changed")).empty());
  CHECK(onlineConditions().find("rank_divergence") == std::string::npos);
  CHECK(onlineConditions().find("activation_range") != std::string::npos);
}
