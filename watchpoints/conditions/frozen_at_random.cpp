// Frozen weights that are spread as they were drawn: whoever freezes a backbone mostly meant to load it
// first.
#include <algorithm>
#include <cmath>
#include <map>

#include "watchpoints/conditions/initial_size.h"
#include "watchpoints/conditions/makers.h"
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
           "them, the others are not: more was frozen than was loaded";
  return (frozen == 1 ? "this weight is frozen, and is"
                      : std::to_string(frozen) + " weights are frozen, and all of them are") +
         " spread exactly as their initialisation draws them: right where random features are meant, or "
         "where what was loaded happens to be spread so; else the trained weights were never loaded";
}

/// What nobody says how it was drawn: the parameters of one root module ("Net") of PyTorch.
struct Root {
  TensorId last;                        // the weight that the forward pass reads last
  core::NodeId reader;                  // of it
  std::size_t trained = 0, frozen = 0;  // weights
};

std::map<std::string, Root> rootsOf(const Graph& graph, const std::vector<bool>& updated) {
  std::map<std::string, Root> roots;
  const auto rootOf = [&](const TensorInfo& info) -> Root& {
    return roots[info.name.substr(0, info.name.find('/'))];
  };
  for (const TensorInfo& info : graph.tensors()) {
    if (info.role != core::TensorRole::kParameter || info.shape.rank() < 2) continue;
    updated[info.id.index()] ? ++rootOf(info).trained : ++rootOf(info).frozen;
  }
  for (const core::Node& node : graph.nodes())
    for (const TensorId input : node.inputs) {
      const TensorInfo& info = graph.tensor(input);
      if (node.phase == core::Phase::kForward && info.role == core::TensorRole::kParameter &&
          info.shape.rank() > 1)
        rootOf(info).last = input, rootOf(info).reader = node.id;
    }
  return roots;
}

/// What is frozen is the same in all iterations, and may be met after the first one.
const StatisticsRow* firstRow(EvaluationContext& context, TensorId frozen) {
  constexpr int kMost = 4;
  int asked = 0;
  const core::Rank rank = context.rankWith(frozen);
  for (const core::Iteration iteration : context.source.iterations(rank)) {
    const StatisticsRow* row = context.source.statistics(rank, iteration, frozen);
    if (row || ++asked == kMost) return row;
  }
  return nullptr;
}

/// Something writes to it between iterations, as a program does that copies it from elsewhere.
bool isReplaced(EvaluationContext& context, TensorId frozen) {
  const core::Rank rank = context.rankWith(frozen);
  std::optional<core::Hash128> first;
  const auto differs = [&](core::Iteration iteration) {
    const StatisticsRow* row = context.source.statistics(rank, iteration, frozen);
    if (!row) return false;
    if (!first) first = row->values.hash;
    return row->values.hash != *first;
  };
  const std::vector<core::Iteration> all = context.source.iterations(rank);
  constexpr std::size_t kFirst = 4;
  return std::ranges::any_of(std::span(all).first(std::min(kFirst, all.size())), differs) ||
         (!all.empty() && differs(all.back()));
}

/// A new head that is frozen, behind layers that are trained. Where most is frozen (adapters) it was meant.
void lookAtHeads(EvaluationContext& context) {
  constexpr std::int64_t kFew = 64;
  const Graph& graph = context.graph();
  std::vector<bool> updated(graph.tensors().size());
  for (const TensorInfo& info : graph.tensors())
    if (info.updateOf.valid()) updated[info.updateOf.index()] = true;
  for (const auto& [name, root] : rootsOf(graph, updated)) {
    if (!root.last.valid() || graph.tensor(root.last).trainable || updated[root.last.index()]) continue;
    if (graph.tensor(root.last).initializer.kind != Initializer::Kind::kNone || root.trained < root.frozen)
      continue;
    const std::vector<bool> parts = partsOf(graph, graph.node(root.reader).outputs.front());
    const bool afterTrained = std::ranges::any_of(graph.tensors(), [&](const TensorInfo& info) {
      return updated[info.id.index()] && parts[info.id.index()];
    });
    const StatisticsRow* row = firstRow(context, root.last);
    if (!afterTrained || !row || row->values.count < kFew || !mayBeAsDrawn(row->values)) continue;
    Finding finding = findingAtNode(context, root.reader,
                                    graph.tensor(root.last).name +
                                        " is frozen (requires_grad is False) and spread as a new layer is "
                                        "drawn, while what comes before it "
                                        "is trained: the layer that answers does not learn");
    finding.advice =
        "Freeze what was loaded, not the layer that is new: requires_grad_(True) for it before the optimizer "
        "is made; a fixed random last layer that is meant is right.";
    context.findings.push_back(std::move(finding));
  }
}

/// As nn.Linear and nn.Conv draw it: evenly between -1 / sqrt(fan-in) and 1 / sqrt(fan-in).
bool isAsTorchDraws(const core::TensorStatistics& values, const core::Shape& shape) {
  constexpr double kRounding = 1e-6;
  if (!shape.known() || shape.rank() < 2 || shape.elements() == 0) return false;
  const double bound = std::sqrt(static_cast<double>(shape[0]) / static_cast<double>(shape.elements()));
  const bool within = std::max(-values.min, values.max) <= bound * (1 + kRounding);
  return within && isAsDrawn(values, {0, bound / std::sqrt(3)});
}

/// As a target network is one of the network that is trained.
bool isCopy(EvaluationContext& context, TensorId frozen, const std::vector<TensorId>& trained) {
  const StatisticsRow* row = firstRow(context, frozen);
  return row && std::ranges::any_of(trained, [&, hash = row->values.hash](TensorId weight) {
           const StatisticsRow* other = firstRow(context, weight);
           return other && other->values.hash == hash;
         });
}

/// Of PyTorch, where nobody says how weights were drawn: two and more frozen ones, all of them so, before
/// what is trained.
void lookAtBackbones(EvaluationContext& context) {
  constexpr std::int64_t kFew = 64;
  const Graph& graph = context.graph();
  std::vector<TensorId> frozen, trained;
  for (const TensorInfo& info : graph.tensors()) {
    if (info.updateOf.valid() && isWeight(graph.tensor(info.updateOf))) trained.push_back(info.updateOf);
    if (info.role != core::TensorRole::kParameter || info.trainable || info.shape.rank() < 2) continue;
    if (info.initializer.kind == Initializer::Kind::kNone && info.isSource()) frozen.push_back(info.id);
  }
  if (trained.empty() || frozen.size() < 2) return;
  for (const TensorId tensor : frozen) {
    const StatisticsRow* row = firstRow(context, tensor);
    if (!row || row->values.count < kFew || !isAsTorchDraws(row->values, graph.tensor(tensor).shape) ||
        isReplaced(context, tensor))
      return;
  }
  if (isCopy(context, frozen.front(), trained)) return;
  Finding finding = findingAt(context, {context.iteration, context.rankWith(frozen.front()), frozen.front()},
                              precedence::kStructure);
  finding.detail = textOf(frozen.size(), frozen.size());
  finding.advice =
      "Look at what load_state_dict() returned: with strict=False it leaves out what has another name, as "
      "\"module.\" before each of a DataParallel model. Random features that are meant are right.";
  context.findings.push_back(std::move(finding));
}

void question(EvaluationContext& context) {
  lookAtHeads(context);
  lookAtBackbones(context);
  constexpr std::int64_t kFew = 64;  // numbers tell nothing about how they are spread
  const Graph& graph = context.graph();
  std::vector<TensorId> frozen = frozenWeights(graph);
  std::erase_if(frozen, [&](TensorId tensor) { return isReplaced(context, tensor); });
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
      "that of the last layer among them; weights that something replaces later are not. Of PyTorch: the "
      "last weight of a module is frozen and spread as it "
      "is drawn, while most weights before it are trained; or two and more weights are frozen and all of "
      "them as "
      "nn.Linear and nn.Conv draw them.";
  def.advice =
      "Load the trained weights (loadParameters) before the first step; if these are they, all is right.";
  def.severity = Severity::kHint;
  def.target = Target::kWeight;
  def.rowsOnly = true;
  def.make = [](const Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
