// Long runs, of which most iterations were thinned: what check() does not ask of each of them changes no
// answer.
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <tuple>

#include "tests/support/sampling.h"
#include "tests/watchpoints/healthy_source.h"
#include "tests/watchpoints/recorded_training.h"
#include "watchpoints/check.h"
#include "watchpoints/known_rows.h"

namespace msdbg::test {
namespace {

using namespace core;
using watch::CheckReport;
using watch::StatisticsRow;
using watch::Watchpoint;
using Places = std::set<std::pair<Rank, Iteration>>;

/// A run of which some iterations were thinned and some are not recorded. `tells`: before their rows are
/// asked for.
class ThinnedSource : public watch::Source, public watch::KnownRows {
 public:
  ThinnedSource(FakeSource& run, Places thinned, Places lost, bool tells)
      : m_run(run), m_thinned(std::move(thinned)), m_lost(std::move(lost)), m_tells(tells) {}

  const Graph& graph() const override { return m_run.graph(); }
  const GraphPart* part(Rank rank, Iteration iteration) const override { return m_run.part(rank, iteration); }
  bool isWhole(NodeId node, TensorId tensor) const override { return m_run.isWhole(node, tensor); }
  std::vector<Rank> ranks() const override { return m_run.ranks(); }
  int rankCount() const override { return m_run.rankCount(); }
  std::vector<Iteration> iterations(Rank rank) const override {
    std::vector<Iteration> all = m_run.iterations(rank);
    std::erase_if(all, [&](Iteration k) { return m_lost.contains({rank, k}); });
    return all;
  }
  Rows rowsOf(Rank rank, Iteration iteration) const override {
    if (!m_tells) return Rows::kPossible;
    if (m_thinned.contains({rank, iteration})) return Rows::kThinned;
    return m_lost.contains({rank, iteration}) || iteration.value < 0 ? Rows::kNotRecorded : Rows::kPossible;
  }
  const StatisticsRow* statistics(Rank rank, Iteration iteration, TensorId tensor) override {
    const bool lost = m_lost.contains({rank, iteration});
    m_reason = !lost && m_thinned.contains({rank, iteration}) ? "thinned" : "no_value";
    return lost || m_thinned.contains({rank, iteration}) ? nullptr
                                                         : m_run.statistics(rank, iteration, tensor);
  }
  std::string missingReason() const override { return m_reason; }
  /// Of a thinned iteration the batch is still there.
  Result<Tensor> value(Rank rank, Iteration iteration, TensorId tensor) override {
    note(rank, iteration);
    if (!stored(rank, iteration, tensor)) return Error(ErrorCode::kUnavailable, "not stored");
    return m_run.value(rank, iteration, tensor);
  }
  bool stored(Rank rank, Iteration iteration, TensorId tensor) const override {
    const TensorRole role = graph().tensor(tensor).role;
    const bool batch = role == TensorRole::kInput || role == TensorRole::kLabel;
    return !m_lost.contains({rank, iteration}) && (batch || !m_thinned.contains({rank, iteration})) &&
           m_run.stored(rank, iteration, tensor);
  }
  std::optional<double> scalar(Rank rank, Iteration iteration, const std::string& name) override {
    note(rank, iteration);
    return m_lost.contains({rank, iteration}) ? std::nullopt : m_run.scalar(rank, iteration, name);
  }
  std::vector<RunFailure> failures() const override { return m_run.failures(); }

  /// How often a scalar or a value of an iteration without rows was asked for.
  std::int64_t askedOfThinned = 0;

 private:
  void note(Rank rank, Iteration iteration) { askedOfThinned += m_thinned.contains({rank, iteration}); }

  FakeSource& m_run;
  Places m_thinned, m_lost;
  bool m_tells;
  std::string m_reason = "no_value";
};

using HitText = std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                           std::string, std::string, std::int64_t, int>;
HitText textOf(const watch::Hit& hit) {
  return {std::string(hit.condition->id),
          hit.parameter,
          hit.iteration.value,
          hit.rank.value,
          hit.node.value,
          hit.tensor.value,
          hit.detail,
          std::to_string(hit.preset) + " " + std::to_string(hit.actual) + " " +
              std::to_string(hit.element.value_or(-1)) + " " + std::string(hit.whatNext()),
          hit.count,
          static_cast<int>(hit.effectiveSeverity)};
}
std::vector<HitText> textsOf(const std::vector<watch::Hit>& hits) {
  std::vector<HitText> texts;
  for (const watch::Hit& hit : hits) texts.push_back(textOf(hit));
  return texts;
}
using Missing =
    std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::string, std::int64_t>;
std::vector<Missing> missingOf(const CheckReport& report) {
  std::vector<Missing> all;
  for (const watch::NotEvaluable& n : report.notEvaluable)
    all.emplace_back(n.condition, n.reason, n.iteration.value, n.rank.value, n.tensor.value, n.detail,
                     n.count);
  return all;
}

void checkSame(const CheckReport& a, const CheckReport& b) {
  CHECK(a.first.has_value() == b.first.has_value());
  CHECK(textsOf(a.hits) == textsOf(b.hits));
  CHECK(textsOf(a.hints) == textsOf(b.hints));
  CHECK(textsOf(a.firstPerRank) == textsOf(b.firstPerRank));
  CHECK(missingOf(a) == missingOf(b));
  CHECK(a.evaluated == b.evaluated);
}

/// Every condition: as the recommended set has it, with defaults, and some with other parameters.
std::vector<Watchpoint> everything() {
  std::vector<Watchpoint> all = watch::recommendedSet();
  std::vector<std::string> texts = {
      "tensor_all_zero:zero_percentage_ge=40", "gradient_vanishing:abs_mean_lt=0.02",
      "weight_initialization:max_gt=0.5",      "weight_change_too_small:abs_mean_update_ratio_lt=0.004",
      "activation_range:max_min_gt=1.5",       "dead_relu:threshold_layer=5",
      "loss_not_decreasing:num_steps=2"};
  for (const watch::ConditionDef& def : watch::allConditions()) texts.emplace_back(def.id);
  for (const std::string& text : texts)
    if (auto parsed = watch::parseWatchpoint(text); parsed.ok()) all.push_back(std::move(*parsed));
  return all;
}

constexpr int kIterations = 24;

/// As recorders thin: stretches of iterations without rows, on all ranks or on some.
Places drawnStretches(std::mt19937_64& random, int ranks, int count) {
  Places places;
  for (int i = 0; i < count; ++i) {
    const auto begin = static_cast<std::int64_t>(random() % kIterations);
    const auto length = static_cast<std::int64_t>(1 + random() % 8);
    const auto rank = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * ranks));
    for (std::int64_t k = begin; k < std::min<std::int64_t>(kIterations, begin + length); ++k)
      for (std::int64_t r = 0; r < ranks; ++r)
        if (rank >= ranks || rank == r) places.emplace(r, k);
  }
  return places;
}

void drawScalars(std::mt19937_64& random, FakeSource& run, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    for (int k = 0; k < kIterations; ++k) {
      run.setScalar(rank, k, "loss", 2 - 0.05 * k + 0.01 * static_cast<double>(random() % 10));
      run.setScalar(rank, k, "learning_rate", 0.01);
      run.setScalar(rank, k, "gradient_norm", random() % 30 == 0 ? 50 : 1 + 0.01 * static_cast<double>(k));
      run.setScalar(rank, k, "step_skipped", static_cast<double>(random() % 5 == 0));
      run.setScalar(rank, k, "loss_scale", random() % 2 == 0 ? 0.5 : 1024);
    }
}

const std::vector<std::string> kFaults = {
    "nan@iteration=5,rank=1,node=network/fc1/Gemm-op1",
    "zero_grad@iteration=3,rank=0",
    "stale_weight@iteration=5,rank=1",
    "skip_allreduce@iteration=2,rank=0",
    "dead_relu@iteration=4",
    "lr@iteration=6,scale=1000",
};

std::vector<Rank> drawnRanks(std::mt19937_64& random) {
  return random() % 3 == 0 ? std::vector<Rank>{Rank(1)} : std::vector<Rank>();
}

}  // namespace

TEST_CASE("What is known to be thinned gives the answers of what is read and found thinned") {
  std::mt19937_64 random(drawnSeed("thinned runs"));
  const std::vector<Watchpoint> all = everything();
  for (int draw = 0; draw < (testAll() ? 200 : 6); ++draw) {
    const std::string fault = kFaults[random() % kFaults.size()];
    const auto run = recordTraining({.ranks = 2, .iterations = kIterations, .faults = {fault}});
    drawScalars(random, *run, 2);
    if (random() % 2 == 0) run->loseValues();
    const Places thinned = drawnStretches(random, 2, 6);
    const Places lost = random() % 2 == 0 ? drawnStretches(random, 2, 1) : Places();
    const watch::CheckOptions options{
        .ranks = drawnRanks(random),
        .iterations = IndexList::parse(random() % 2 == 0 ? "0-" : "1-9,12-").value()};
    CAPTURE(draw, fault, thinned.size(), lost.size(), options.ranks.size());
    ThinnedSource asks(*run, thinned, lost, false), knows(*run, thinned, lost, true);
    checkSame(watch::check(asks, all, options), watch::check(knows, all, options));
  }
}

TEST_CASE("A condition of rows only looks at nothing else of an iteration that has none") {
  std::mt19937_64 random(1);
  const auto run = recordTraining({.ranks = 2, .iterations = kIterations});
  drawScalars(random, *run, 2);
  Places thinned;
  for (std::int64_t k = 0; k < kIterations; ++k)
    for (std::int64_t rank = 0; rank < 2; ++rank)
      if (k % 6 != 0) thinned.emplace(rank, k);
  int some = 0;
  for (const Watchpoint& watchpoint : everything()) {
    if (!watchpoint.condition->rowsOnly) continue;
    ThinnedSource source(*run, thinned, {}, false);
    (void)watch::check(source, {watchpoint}, {});
    CAPTURE(watchpoint.argument());
    CHECK(source.askedOfThinned == 0);
    ++some;
  }
  CHECK(some > 10);
}

namespace {

int g_asked = 0;  // how often a Counting was

/// Once something of the first iteration that it is asked of, and of each the same.
class Counting : public watch::Evaluator {
 public:
  void evaluate(watch::EvaluationContext& context) override {
    context.evaluated += g_asked++ == 0 ? 100 : 1;
    context.notEvaluable.add({{}, "thinned", context.iteration, Rank(0), TensorId(0), "", 3});
  }
};

CheckReport countedCheck(watch::Source& source, bool rowsOnly) {
  watch::ConditionDef def;
  def.id = "counting";
  def.rowsOnly = rowsOnly;
  def.make = [](const Graph&, const watch::Parameters&, bool) -> std::unique_ptr<watch::Evaluator> {
    return std::make_unique<Counting>();
  };
  Watchpoint watchpoint;
  watchpoint.condition = &def;
  g_asked = 0;
  CheckReport report = watch::check(source, {watchpoint}, {});
  return report;
}

}  // namespace

TEST_CASE(
    "Of a thousand thinned iterations a condition of rows only is asked until it answers the same twice") {
  FakeSource run = healthySource(1, 1000);
  Places thinned;
  for (std::int64_t k = 1; k < 1000; ++k)
    if (k != 500) thinned.emplace(0, k);
  ThinnedSource source(run, thinned, {}, true);
  const CheckReport each = countedCheck(source, false);
  CHECK(g_asked == 1000);
  const CheckReport once = countedCheck(source, true);
  CHECK(g_asked < 12);  // the whole ones, what follows them, and two of each stretch
  CHECK(once.evaluated == each.evaluated);
  CHECK(once.evaluated == 1099);
  CHECK(missingOf(once) == missingOf(each));
}

TEST_CASE("What was thinned is told of each tensor, in as many iterations as have none of it") {
  FakeSource run = healthySource(2, 50);
  Places thinned;
  for (std::int64_t k = 10; k < 40; ++k)
    for (std::int64_t rank = 0; rank < 2; ++rank) thinned.emplace(rank, k);
  ThinnedSource source(run, thinned, {}, true);
  const CheckReport report = watch::check(source, {watch::parseWatchpoint("tensor_overflow").value()}, {});
  std::map<TensorId, std::int64_t> counts;
  for (const watch::NotEvaluable& n : report.notEvaluable) {
    CHECK(n.reason == "thinned");
    CHECK(counts.emplace(n.tensor, n.count).second);
  }
  for (const TensorInfo& info : run.graph().tensors()) {
    if (!isFloating(info.dtype)) continue;
    CAPTURE(info.fullName());
    // Of a parameter the update before it was seen, in the first of them.
    const bool updated = info.role == TensorRole::kParameter || info.role == TensorRole::kOptimizerState;
    CHECK(counts[info.id] == (updated ? 58 : 60));
  }
}

}  // namespace msdbg::test
