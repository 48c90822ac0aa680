#include "watchpoints/conditions/kept_gradient.h"

#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;
using core::TensorInfo;

bool sameElements(const Graph& graph, TensorId a, TensorId b) {
  const core::Shape &x = graph.tensor(a).shape, &y = graph.tensor(b).shape;
  return x.known() && y.known() && x.elements() == y.elements();
}

/// Back from the gradient that an update reads, past clipping and the like, to the sum in AccumulateGrad: the
/// source that it is added to. Invalid: there is none.
TensorId addedTo(const Graph& graph, TensorId gradient) {
  constexpr int kDeepest = 64;  // a critic steps several times, of several losses each
  for (int steps = 0; steps < kDeepest && gradient.valid(); ++steps) {
    const Node* node = producerOf(graph, gradient);
    if (!node || node->inputs.empty()) return {};
    const TensorId first = node->inputs.front();
    if (!sameElements(graph, first, gradient)) return {};
    const bool sums = node->phase == core::Phase::kBackward && node->inputs.size() == 2 &&
                      node->scope.ends_with("/AccumulateGrad");
    const TensorInfo& info = graph.tensor(first);
    if (sums && info.isSource()) return info.role == core::TensorRole::kConstant ? first : TensorId();
    gradient = first;
  }
  return {};
}

/// What backward passes add up, in tensors of as many elements: of which parameter nobody says.
std::vector<TensorId> accumulated(const Graph& graph, TensorId old) {
  std::vector<TensorId> found;
  for (const Node& node : graph.nodes())
    if (node.phase == core::Phase::kBackward && node.scope.ends_with("/AccumulateGrad") &&
        sameElements(graph, node.outputs.front(), old))
      found.push_back(node.outputs.front());
  return found;
}

}  // namespace

KeptGradients::KeptGradients(const Graph& graph) {
  for (ParameterUpdate& update : parameterUpdates(graph)) {
    if (!m_step && graph.node(update.node).phase == core::Phase::kUpdate) m_step = update;
    if (!update.gradient.valid()) continue;
    if (!graph.tensor(update.gradient).shape.known()) m_sparse.push_back(update);
    if (const TensorId old = addedTo(graph, update.gradient); old.valid()) {
      std::vector<TensorId> gradients = accumulated(graph, old);
      gradients.insert(gradients.begin(), update.gradient);
      m_kept.push_back({std::move(update), old, std::move(gradients), 0});
    }
  }
}

void KeptGradients::evaluate(EvaluationContext& context) {
  if (!context.beforeSelected) return;
  for (const core::Rank rank : context.ranks) {
    if (isToldSo(context, rank)) continue;
    for (Kept& kept : m_kept) {
      const TensorId from = keptFrom(context, rank, kept);
      if (!from.valid() || ++kept.times != 2) continue;
      const bool ofUpdate = from == kept.update.gradient;
      add(context, rank, kept.update,
          std::string("its gradient still holds ") + (ofUpdate ? "that" : "what another backward pass left") +
              " of iteration " + std::to_string(context.iteration.value - 1) +
              ", bit for bit, with the new one added: nobody sets gradients to zero between two steps");
    }
    for (const ParameterUpdate& update : m_sparse) lookAtSparse(context, rank, update);
  }
}

bool KeptGradients::isToldSo(EvaluationContext& context, core::Rank rank) {
  if (context.rows.scalar(rank, "gradients_kept").value_or(0) == 0) return m_told.contains(rank);
  if (++m_told[rank] == 2 && m_step)
    add(context, rank, *m_step,
        "the gradients of the step before were still there when backward() was called, and the new ones were "
        "added "
        "to them, for the second time here: nobody sets gradients to zero between two steps");
  return true;
}

TensorId KeptGradients::keptFrom(EvaluationContext& context, core::Rank rank, const Kept& kept) {
  const StatisticsRow* old = context.rows.now(rank, kept.old);
  if (!old || old->values.nonFinite() > 0 || old->values.zero == old->values.count) return {};
  const core::Hash128 hash = old->values.hash;
  const bool stepped = context.rows.before(rank, kept.update.next) != nullptr;
  for (const TensorId gradient : kept.gradients) {
    if (gradient != kept.update.gradient && !stepped) continue;
    const StatisticsRow* before = context.rows.before(rank, gradient);
    if (before && before->values.hash == hash) return gradient;
  }
  return {};
}

/// Batches that are sorted by length grow too, but not to four times the rows in so few steps.
void KeptGradients::lookAtSparse(EvaluationContext& context, core::Rank rank, const ParameterUpdate& update) {
  constexpr int kSteps = 8;
  constexpr std::int64_t kTimes = 4;
  const StatisticsRow* row = context.rows.now(rank, update.gradient);
  if (!row) return;
  Growth& growth = m_growth[{rank, update.gradient}];
  const std::int64_t count = row->values.count;
  if (growth.times > kSteps) return;  // told
  if (count <= growth.last || growth.first == 0) growth = {count, count, 0};
  if (count <= growth.last) return;
  growth.last = count;
  if (++growth.times < kSteps || count < kTimes * growth.first) return;
  growth.times = kSteps + 1;
  add(context, rank, update,
      "its sparse gradient has grown in each of the last " + std::to_string(kSteps) + " steps, from " +
          std::to_string(growth.first) + " elements to " + std::to_string(count) +
          ": the rows of all of them are still in it, since nobody sets it to zero between two steps");
}

void KeptGradients::add(EvaluationContext& context, core::Rank rank, const ParameterUpdate& update,
                        std::string detail) const {
  Finding finding = findingAt(context, {context.iteration, rank, update.next}, precedence::kNotChanged);
  finding.detail = std::move(detail);
  finding.advice = "Call optimizer.zero_grad() once for each step, before backward(), of every optimizer.";
  finding.severity = Severity::kFault;
  context.findings.push_back(std::move(finding));
}

}  // namespace msdbg::watch
