// Frozen weights that are spread as they were drawn: whoever freezes a backbone mostly meant to load it
// first.
#include <cmath>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Initializer;
using core::TensorId;
using core::TensorInfo;

struct Moments {
  double mean, deviation;
};

/// Of what the initializer draws; nullopt: it draws nothing.
std::optional<Moments> momentsOf(const Initializer& first) {
  constexpr double kCutAtTwo = 0.8796256610342398;  // deviation of a normal distribution cut at 2
  switch (first.kind) {
    case Initializer::Kind::kKaimingNormal:
      return first.value > 0 ? std::optional(Moments{0, std::sqrt(2 / first.value)}) : std::nullopt;
    case Initializer::Kind::kUniform:
      return Moments{(first.value + first.high) / 2, (first.high - first.value) / std::sqrt(12)};
    case Initializer::Kind::kTruncatedNormal:
      return Moments{0, kCutAtTwo * first.value};
    default:
      return std::nullopt;
  }
}

/// Within four errors of a sample of that size.
bool isAsDrawn(const core::TensorStatistics& values, const Moments& moments) {
  constexpr double kErrors = 4;
  const double n = static_cast<double>(values.count);
  return values.nonFinite() == 0 &&
         std::abs(values.mean - moments.mean) <= kErrors * moments.deviation / std::sqrt(n) &&
         std::abs(values.std / moments.deviation - 1) <= kErrors / std::sqrt(2 * n);
}

std::vector<TensorId> frozenWeights(const Graph& graph) {
  std::vector<TensorId> frozen;
  for (const TensorInfo& info : graph.tensors())
    if (info.role == core::TensorRole::kParameter && !info.trainable && info.shape.rank() > 1 &&
        momentsOf(info.initializer))
      frozen.push_back(info.id);
  return frozen;
}

void question(EvaluationContext& context) {
  constexpr std::int64_t kFew = 64;  // numbers tell nothing about how they are spread
  const Graph& graph = context.graph();
  const core::Rank rank = context.ranks.front();
  std::vector<TensorId> frozen = frozenWeights(graph);
  std::int64_t count = 0;
  for (const TensorId tensor : frozen) {
    const StatisticsRow* row = context.rows.now(rank, tensor);
    if (!row || !isAsDrawn(row->values, *momentsOf(graph.tensor(tensor).initializer))) return;
    count += row->values.count;
  }
  if (frozen.empty() || count < kFew) return;
  Finding finding = findingAt(context, {context.iteration, rank, frozen.front()}, precedence::kStructure);
  finding.detail =
      (frozen.size() == 1 ? "this weight is frozen, and is"
                          : std::to_string(frozen.size()) + " weights are frozen, and all of them are") +
      " spread exactly as their initialisation draws them: right where random features are meant, "
      "or where what was loaded happens to be spread so; else the trained weights were never "
      "loaded";
  context.findings.push_back(std::move(finding));
}

}  // namespace

ConditionDef frozenAtRandomCondition() {
  ConditionDef def;
  def.id = "frozen_at_random";
  def.title = "Frozen as it was drawn";
  def.doc =
      "In the first recorded iteration every frozen weight of two dimensions and more has the mean and the "
      "deviation of its own random initialisation, within four errors of a sample of its size.";
  def.advice =
      "Load the trained weights (loadParameters) before the first step; if these are they, all is right.";
  def.severity = Severity::kHint;
  def.target = Target::kWeight;
  def.make = [](const Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
