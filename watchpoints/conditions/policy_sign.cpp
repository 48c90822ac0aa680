// The score function estimator of REINFORCE (Williams 1992): the loss is minus log p(sampled action) times
// its reward. With the sign left out training makes rewards small. That what is multiplied with is a reward,
// and no cost, only its name tells; that it is no reward turned round, how it went.
#include <array>
#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// log p of an action that was sampled from the same distribution: picked by what multinomial gave.
bool isOfSample(const Graph& graph, const Node& node) {
  if (node.opType != "aten.gather" || node.inputs.size() != 2) return false;
  const Node* index = makerOf(graph, node.inputs[1]);
  return index && index->opType == "aten.multinomial";
}

constexpr auto kJoins = std::to_array<std::string_view>(
    {"aten.stack", "Concat", "aten.cat", "torch.parts"});  // steps to an episode

/// Down from a factor to log p; nullopt: it does not lead there. True: with a minus.
std::optional<bool> negatedLogProbability(const Graph& graph, TensorId factor) {
  bool negative = false;
  for (int steps = 0; steps < 8; ++steps) {
    const Node* node = producerOf(graph, factor);
    if (!node) return std::nullopt;
    if (isOfSample(graph, *node)) return negative;
    if (isOneOf(node, kJoins)) {
      factor = node->inputs.front();
      continue;
    }
    const std::optional<Signed> next = signedInput(graph, *node);
    if (!next) return std::nullopt;
    negative = negative != next->negated;
    factor = next->input;
  }
  return std::nullopt;
}

/// A term of the loss: log p times a weight.
struct Term {
  const Node* product;
  TensorId weight;
};

/// The first term that is not negated; the loss is a sum of terms, or a mean of one.
std::optional<Term> plainTerm(const Graph& graph, TensorId tensor, bool negative, int depth) {
  constexpr int kDeepest = 12;
  const Node* node = depth < kDeepest ? producerOf(graph, tensor) : nullptr;
  if (!node) return std::nullopt;
  if ((node->opType == "Add" || node->opType == "Sub") && node->inputs.size() == 2) {
    const auto first = plainTerm(graph, node->inputs[0], negative, depth + 1);
    return first ? first : plainTerm(graph, node->inputs[1], negative != (node->opType == "Sub"), depth + 1);
  }
  if (const std::optional<Signed> next = signedInput(graph, *node))
    return plainTerm(graph, next->input, negative != next->negated, depth + 1);
  if (node->opType != "Mul" || node->inputs.size() != 2) return std::nullopt;
  for (const std::size_t i : {0, 1})
    if (const auto turned = negatedLogProbability(graph, node->inputs[i]))
      return *turned == negative ? std::optional(Term{node, node->inputs[1 - i]}) : std::nullopt;
  return std::nullopt;
}

bool saysReward(const Graph& graph, const Node& node) {
  static constexpr auto kWords =
      std::to_array<std::string_view>({"reward", "return", "adv", "Reward", "Adv"});
  static constexpr auto kOthers = std::to_array<std::string_view>({"cost", "penalt", "regret", "return "});
  const core::Frame* frame = graph.userFrame(node.frames);
  const auto has = [&](std::string_view word) {
    return frame && frame->code.find(word) != std::string::npos;
  };
  return std::ranges::any_of(kWords, has) && std::ranges::none_of(kOthers, has);
}

/// Back from the weight to the numbers that it is made of (rewards before their mean is taken away), and no
/// further than where steps are joined: of the first alone nothing is learnt. `named`: on the way a line says
/// that it is one.
TensorId rewardOf(const Graph& graph, TensorId weight, bool& named) {
  for (int steps = 0; steps < 16; ++steps) {
    const Node* node = producerOf(graph, weight);
    if (!node) break;
    named = named || saysReward(graph, *node);
    if (isOneOf(node, kJoins)) break;
    const auto next = std::ranges::find_if(
        node->inputs, [&](TensorId input) { return isFloating(graph.tensor(input).dtype); });
    if (next == node->inputs.end()) break;
    weight = *next;
  }
  return weight;
}

struct Course {
  double first = 0, last = 0;  // mean of the first and the last third
  bool falls = false, rises = false;
};
std::optional<Course> courseOf(EvaluationContext& context, TensorId reward) {
  constexpr std::size_t kLeast = 12;
  std::vector<double> means;
  const core::Rank rank = context.ranks.front();
  for (const core::Iteration iteration : context.source.iterations(rank))
    if (const StatisticsRow* row = context.source.statistics(rank, iteration, reward);
        row && row->values.nonFinite() == 0)
      means.push_back(row->values.mean);
  if (means.size() < kLeast) return std::nullopt;
  const std::size_t third = means.size() / 3;
  const auto meanOf = [&](std::size_t from) {
    double sum = 0, squares = 0;
    for (std::size_t i = from; i < from + third; ++i) sum += means[i], squares += means[i] * means[i];
    const double n = static_cast<double>(third), mean = sum / n;
    return std::pair(mean, std::max(0.0, squares / n - mean * mean) / n);
  };
  const auto [first, firstError] = meanOf(0);
  const auto [last, lastError] = meanOf(means.size() - third);
  const double apart = 3 * std::sqrt(firstError + lastError);
  return Course{first, last, last<first - apart, last> first + apart};
}

}  // namespace

void checkPolicySign(EvaluationContext& context, TensorId loss) {
  const Graph& graph = context.graph();
  const std::optional<Term> term = plainTerm(graph, loss, false, 0);
  if (!term || context.ranks.empty()) return;
  bool named = saysReward(graph, *term->product);
  const TensorId reward = rewardOf(graph, term->weight, named);
  const std::optional<Course> course = courseOf(context, reward);
  if (!named || !course || !course->falls) return;
  Finding finding =
      findingAtNode(context, term->product->id,
                    "the loss is the log-probability of what was sampled times its reward, and not minus "
                    "that: training makes rewards small; the mean of " +
                        graph.tensor(reward).name + " falls from " + core::formatShort(course->first) +
                        " to " + core::formatShort(course->last));
  finding.advice =
      "Negate it: loss = -(log_prob * advantage).mean(); of a cost, which is to become small, it is right.";
  context.findings.push_back(std::move(finding));
}

}  // namespace msdbg::watch
