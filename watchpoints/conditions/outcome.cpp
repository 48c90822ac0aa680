#include "watchpoints/conditions/outcome.h"

#include <algorithm>
#include <cmath>

#include "watchpoints/conditions/makers.h"
#include "watchpoints/meaning/meaning.h"
#include "watchpoints/meaning/wording.h"

namespace msdbg::watch {

Outcome::Outcome(const core::Graph& graph, const Parameters& parameters)
    : m_loss(followedTensor(graph, parameters)), m_given(!textOf(parameters, "tensor") && isOfTorch(graph)) {
  const std::int64_t classes = classesOfLoss(graph);
  m_guessing = classes > 1 ? std::log(static_cast<double>(classes)) : INFINITY;
}

void Outcome::add(EvaluationContext& context) {
  double sum = 0, ranks = 0;
  for (const core::Rank rank : context.ranks) {
    const std::optional<double> given = m_given ? givenLoss(context, rank) : std::nullopt;
    const StatisticsRow* row = m_loss.valid() && !given ? context.rows.now(rank, m_loss) : nullptr;
    const std::optional<double> loss = given || row ? given : lossOfThinned(context, rank, m_loss);
    if (!row && !loss) continue;
    sum += loss ? *loss : row->values.nonFinite() > 0 ? std::nan("") : row->values.mean;
    ++ranks;
  }
  if (ranks == 0) return;
  m_losses.push_back({context.iteration, sum / ranks});
  m_finite = m_finite && std::isfinite(sum);
}

std::optional<double> givenLoss(EvaluationContext& context, core::Rank rank) {
  std::optional<double> sum = context.rows.scalar(rank, "loss");
  std::optional<double> part = sum ? context.rows.scalar(rank, "loss/1") : std::nullopt;
  for (int i = 2; part; ++i) {
    sum = *sum + *part;
    part = context.rows.scalar(rank, "loss/" + std::to_string(i));
  }
  return sum;
}

bool Outcome::beginsNonFinite() const { return !m_losses.empty() && !std::isfinite(m_losses.front().value); }

bool Outcome::recoveredSince(core::Iteration iteration) const {
  return m_finite && recovered(iteration, m_losses);
}

bool Outcome::recoveredBeforeNonFinite(core::Iteration iteration) const {
  const auto bad =
      std::ranges::find_if(m_losses, [](const Loss& loss) { return !std::isfinite(loss.value); });
  return bad != m_losses.end() && recovered(iteration, std::span(m_losses.begin(), bad));
}

/// Few values that a loss takes on its way to infinity do not move it.
static double medianOf(std::span<const Outcome::Loss> losses) {
  std::vector<double> values;
  for (const Outcome::Loss& loss : losses) values.push_back(loss.value);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool Outcome::recovered(core::Iteration iteration, std::span<const Loss> losses) const {
  constexpr std::size_t kFew = 5, kMost = 10;
  const auto at = std::ranges::lower_bound(losses, iteration, {}, &Loss::iteration);
  const auto after = static_cast<std::size_t>(losses.end() - at);
  if (after <= kFew) return false;
  const std::size_t last = std::min(kMost, after - 1);
  double sum = 0;
  for (const Loss& loss : losses.last(last)) sum += loss.value;
  const double mean = sum / static_cast<double>(last), first = losses.front().value;
  const double now = m_finite ? mean : medianOf(losses.last(last));
  if (now > m_guessing) return false;
  const double then = std::max(at->value, first);  // a fitted loss has nothing to recover from
  return now < then - 0.3 * std::abs(then) || (then < 0 && fallsClearly(losses.last(after), 2));
}

std::optional<double> lossOfThinned(EvaluationContext& context, core::Rank rank, core::TensorId tensor) {
  const bool isLoss = tensor.valid() && tensor == followedTensor(context.graph(), {});
  if (!isLoss || context.rows.missingReason(rank, tensor) != "thinned") return std::nullopt;
  return context.rows.scalar(rank, "loss");
}

/// The classes of PyTorch's cross_entropy, mean over samples that all count alike, which is a log_softmax and
/// an nll_loss; of views the recorder shows what they are views of. 0: it is none.
static std::int64_t classesOfTorch(const core::Graph& graph, const core::Node& loss) {
  constexpr std::int64_t kMean = 1;
  static constexpr auto kLosses =
      std::to_array<std::string_view>({"aten.nll_loss_forward", "aten.nll_loss2d_forward"});
  if (!isOneOf(&loss, kLosses) || loss.inputs.size() != 2 ||
      foreignAttribute<std::int64_t>(loss, "reduction", kMean) != kMean ||
      foreignAttribute(loss, fact::kNormalisedElsewhere, false))
    return 0;
  const core::Node* softmax = makerOf(graph, loss.inputs.front());
  if (!softmax || (softmax->opType != "LogSoftmax" && softmax->opType != "aten._log_softmax")) return 0;
  const core::Shape& shape = graph.tensor(softmax->outputs.front()).shape;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  std::int64_t axis = softmaxAxis(*softmax);
  if (axis < 0) axis += rank;
  return rank > 1 && axis >= 0 && axis < rank ? shape[static_cast<std::size_t>(axis)] : 0;
}

std::int64_t classesOfLoss(const core::Graph& graph) {
  const core::TensorId loss = followedTensor(graph, {});
  if (!loss.valid() || !graph.tensor(loss).producer.valid()) return 0;
  const core::Node& node = graph.node(graph.tensor(loss).producer);
  if (const std::int64_t classes = classesOfTorch(graph, node); classes > 0) return classes;
  if (node.opType != "SoftmaxCrossEntropyLoss" || node.outputs.front() != loss || node.inputs.empty())
    return 0;
  const core::Shape& logits = graph.tensor(node.inputs.front()).shape;
  return logits.rank() > 1 ? logits[1] : 0;
}

LossWindow windowOf(std::span<const Outcome::Loss> losses) {
  const double n = static_cast<double>(losses.size());
  double sum = 0, squares = 0;
  for (const Outcome::Loss& loss : losses) sum += loss.value;
  for (const Outcome::Loss& loss : losses) squares += (loss.value - sum / n) * (loss.value - sum / n);
  return {sum / n, std::sqrt(squares / (n - 1) / n)};
}

bool fallsClearly(std::span<const Outcome::Loss> losses, double errors) {
  const std::size_t quarter = losses.size() / 4;
  if (quarter < 2) return false;
  const LossWindow first = windowOf(losses.first(quarter)), last = windowOf(losses.last(quarter));
  return last.mean < first.mean - errors * std::hypot(first.error, last.error);
}

}  // namespace msdbg::watch
