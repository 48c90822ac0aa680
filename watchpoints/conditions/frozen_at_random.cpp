// Frozen weights that are spread as they were drawn: whoever freezes a backbone mostly meant to load it
// first.
#include <algorithm>
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

/// The weight that the forward pass reads last: what the model answers with.
TensorId lastWeight(const Graph& graph) {
  TensorId last;
  for (const core::Node& node : graph.nodes())
    if (node.phase == core::Phase::kForward)
      for (const TensorId input : node.inputs)
        if (graph.tensor(input).role == core::TensorRole::kParameter && graph.tensor(input).shape.rank() > 1)
          last = input;
  return last;
}

std::string textOf(std::size_t drawn, std::size_t frozen) {
  if (drawn < frozen)
    return std::to_string(drawn) + " of " + std::to_string(frozen) +
           " frozen weights, the last layer's among them, are spread exactly as their initialisation draws "
           "them, "
           "the others are not: more was frozen than was loaded";
  return (frozen == 1 ? "this weight is frozen, and is"
                      : std::to_string(frozen) + " weights are frozen, and all of them are") +
         " spread exactly as their initialisation draws them: right where random features are meant, or "
         "where what "
         "was loaded happens to be spread so; else the trained weights were never loaded";
}

void question(EvaluationContext& context) {
  constexpr std::int64_t kFew = 64;  // numbers tell nothing about how they are spread
  const Graph& graph = context.graph();
  const std::vector<TensorId> frozen = frozenWeights(graph);
  std::vector<TensorId> drawn;
  std::int64_t count = 0;
  for (const TensorId tensor : frozen) {
    const StatisticsRow* row = context.rows.now(context.rankWith(tensor), tensor);
    if (!row || !isAsDrawn(row->values, *momentsOf(graph.tensor(tensor).initializer))) continue;
    drawn.push_back(tensor);
    count += row->values.count;
  }
  // What was loaded may be spread so by chance; a last layer that cannot learn is hardly meant.
  const TensorId last = lastWeight(graph);
  const bool all = drawn.size() == frozen.size();
  if (drawn.empty() || count < kFew || (!all && std::ranges::count(drawn, last) == 0)) return;
  const TensorId shown = all ? drawn.front() : last;
  Finding finding =
      findingAt(context, {context.iteration, context.rankWith(shown), shown}, precedence::kStructure);
  finding.detail = textOf(drawn.size(), frozen.size());
  context.findings.push_back(std::move(finding));
}

}  // namespace

ConditionDef frozenAtRandomCondition() {
  ConditionDef def;
  def.id = "frozen_at_random";
  def.title = "Frozen as it was drawn";
  def.doc =
      "In the first recorded iteration every frozen weight of two dimensions and more has the mean and the "
      "deviation of its own random initialisation, within four errors of a sample of its size; or some have, "
      "that of the last layer among them.";
  def.advice =
      "Load the trained weights (loadParameters) before the first step; if these are they, all is right.";
  def.severity = Severity::kHint;
  def.target = Target::kWeight;
  def.make = [](const Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
