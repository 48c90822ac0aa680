// A run larger than any memory: rows come from a formula, so that what is measured is what check() needs.
#include <catch2/catch.hpp>

#include "core_engine/graph/graph_union.h"
#include "tests/support/sampling.h"
#include "tests/support/small_process.h"
#include "watchpoints/check.h"

namespace msdbg::test {

using namespace core;

namespace {

constexpr int kLayers = 28'572, kRanks = 8;  // 7 tensors a layer, 200,005 in all

TensorInfo floats(TensorRole role, std::string name = "", Shape shape = {4, 4}) {
  TensorInfo info;
  info.name = std::move(name);
  info.shape = std::move(shape);
  info.role = role;
  return info;
}

/// x -> MatMul(w) -> Relu -> …; the gradients of weights are summed over the ranks, and update them.
Graph layersGraph() {
  Graph graph("net");
  const auto node = [&](const char* type, const std::string& scope, Phase phase, std::vector<TensorId> inputs,
                        TensorInfo output) {
    return graph.node(graph.addNode(type, scope, phase, std::move(inputs), {}, {std::move(output)}, {}))
        .outputs[0];
  };
  std::vector<TensorId> weights, inputs, activations;
  TensorId x = graph.addSource(floats(TensorRole::kInput, "net/x"));
  for (int i = 0; i < kLayers; ++i) {
    const std::string scope = "net/layer" + std::to_string(i);
    TensorInfo weight = floats(TensorRole::kParameter, scope + "/weight");
    weight.trainable = weight.replicated = true;
    weights.push_back(graph.addSource(weight));
    inputs.push_back(x);
    x = node("MatMul", scope, Phase::kForward, {x, weights.back()}, floats(TensorRole::kActivation));
    x = node("Relu", scope, Phase::kForward, {x}, floats(TensorRole::kActivation));
    activations.push_back(x);
  }
  x = node("ReduceMean", "net", Phase::kForward, {x}, floats(TensorRole::kLoss, "", {}));
  for (int i = kLayers; i-- > 0;) {
    const auto at = static_cast<std::size_t>(i);
    const std::string scope = "net/layer" + std::to_string(i);
    const TensorId back = node("ReluGrad", "grad/" + scope, Phase::kBackward, {x, activations[at]},
                               floats(TensorRole::kGradient));
    TensorInfo gradient = floats(TensorRole::kGradient);
    gradient.gradientOf = weights[at];
    const TensorId local =
        node("MatMulGradB", "grad/" + scope, Phase::kBackward, {inputs[at], back}, gradient);
    gradient.replicated = true;
    const TensorId sum = node("Allreduce", "grad/" + scope, Phase::kCollective, {local}, gradient);
    TensorInfo next = floats(TensorRole::kUpdated);
    next.updateOf = weights[at];
    next.replicated = true;
    node("SgdUpdate", "update/" + scope, Phase::kUpdate, {weights[at], sum}, next);
    x = back;
  }
  return graph;
}

class Formula : public watch::Source {
 public:
  explicit Formula(int iterations) : m_graphs(layersGraph()), m_iterations(iterations) {}

  const Graph& graph() const override { return m_graphs.graph(); }
  std::vector<Rank> ranks() const override {
    std::vector<Rank> all;
    for (std::int64_t rank = 0; rank < kRanks; ++rank) all.emplace_back(rank);
    return all;
  }
  std::vector<Iteration> iterations(Rank) const override {
    std::vector<Iteration> all;
    for (std::int64_t i = 0; i < m_iterations; ++i) all.emplace_back(i);
    return all;
  }
  const watch::StatisticsRow* statistics(Rank rank, Iteration iteration, TensorId tensor) override {
    const TensorInfo& info = graph().tensor(tensor);
    watch::StatisticsRow& row = m_rows[m_next++ % m_rows.size()];
    row = {};
    TensorStatistics& values = row.values;
    values.count = info.shape.elements();
    values.negative = values.count / 2, values.positive = values.count - values.negative;
    values.min = -0.5, values.max = 0.5, values.mean = 0.01, values.meanAbs = 0.2, values.std = 0.25;
    values.l1 = 3.2, values.l2 = 1;
    const bool sum = info.replicated && info.role == TensorRole::kGradient;
    if (sum) values.mean *= kRanks, values.meanAbs *= kRanks;
    const std::int64_t rankPart = info.replicated || info.role == TensorRole::kUpdated ? 0 : rank.value;
    // The value after an update is that of the parameter in the next iteration.
    const std::int64_t what = info.updateOf.valid() ? info.updateOf.value : tensor.value,
                       when = iteration.value + (info.updateOf.valid() ? 1 : 0);
    values.hash = {static_cast<std::uint64_t>(what * 1000 + when), static_cast<std::uint64_t>(rankPart + 1)};
    if (info.role == TensorRole::kLoss)
      values.mean = values.min = values.max = 1.0 / static_cast<double>(iteration.value + 2);
    if (info.updateOf.valid()) row.change = ChangeStatistics{0.001, 0.002, 0.2, values.count, 0};
    if (!info.isSource() && graph().node(info.producer).opType == "Relu") row.activation.emplace();
    return &row;
  }
  Result<Tensor> value(Rank, Iteration, TensorId) override {
    return Error(ErrorCode::kUnavailable, "not stored");
  }
  bool stored(Rank, Iteration, TensorId) const override { return false; }
  std::optional<double> scalar(Rank, Iteration, const std::string&) override { return std::nullopt; }

 private:
  GraphUnion m_graphs;
  int m_iterations;
  std::array<watch::StatisticsRow, 32> m_rows;
  std::size_t m_next = 0;
};

}  // namespace

TEST_CASE("200,000 tensors of 8 ranks are checked within a gigabyte", "[slow]") {
  const int iterations = testAll() ? 100 : 4;  // what is needed does not grow with them
  CHECK(inSmallProcess(
            [&]() -> std::string {
              Formula run(iterations);
              if (run.graph().tensors().size() < 200'000) return "too few tensors";
              const auto report = watch::check(run, watch::recommendedSet(), {});
              if (report.first) return std::string(report.first->condition->id) + ": " + report.first->detail;
              return report.evaluated > 8 * 200'000 ? "" : "not evaluated";
            },
            {.memory = std::size_t{1} << 30, .seconds = 3600}) == "");
}

}  // namespace msdbg::test
