// The probability that a model gives the right answer, where a program computes it for its loss (the p_t of
// Lin et al. 2017, "Focal Loss"): training is to make it large.
#include <algorithm>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

constexpr auto kProbabilities =
    std::to_array<std::string_view>({"Softmax", "Sigmoid", "aten._softmax", "aten.sigmoid"});

/// x of 1 - x; invalid: it is none.
TensorId restOf(const Graph& graph, TensorId tensor) {
  const Node* node = producerOf(graph, tensor);
  if (!node || node->inputs.empty()) return {};
  if (node->opType == "aten.rsub")
    return constantBeside(graph, *node, 0) == 1.0 ? node->inputs[0] : TensorId();
  if (node->opType != "Sub" || node->inputs.size() != 2) return {};
  return constantOf(graph, node->inputs[0]) == 1.0 ? node->inputs[1] : TensorId();
}

/// Whether a factor is the answer: rows of 0 and 1, or what the batch brings.
bool isAnswer(const Graph& graph, TensorId tensor) {
  const TensorId origin = originOf(graph, tensor);
  const Node* maker = producerOf(graph, origin);
  return isData(graph, origin) || (maker && maker->opType == "OneHot");
}

struct Factors {
  TensorId probability, answer;
};
std::optional<Factors> factorsOf(const Graph& graph, TensorId product) {
  const Node* node = producerOf(graph, product);
  if (!isProduct(node) || node->inputs.size() != 2) return std::nullopt;
  for (const std::size_t i : {0, 1}) {
    const TensorId answer = node->inputs[i], probability = node->inputs[1 - i];
    const TensorId noAnswer = restOf(graph, answer), noProbability = restOf(graph, probability);
    if (!isAnswer(graph, noAnswer.valid() ? noAnswer : answer)) continue;
    if (!isOneOf(makerOf(graph, noProbability.valid() ? noProbability : probability), kProbabilities))
      continue;
    return Factors{probability, answer};
  }
  return std::nullopt;
}

/// p * y + (1 - p) * (1 - y).
bool isOfTwoAnswers(const Graph& graph, const Node& sum) {
  if ((sum.opType != "Add" && sum.opType != "aten.add") || sum.inputs.size() != 2) return false;
  const std::optional<Factors> a = factorsOf(graph, sum.inputs[0]), b = factorsOf(graph, sum.inputs[1]);
  const auto isRest = [&](TensorId x, TensorId y) {
    const TensorId rest = restOf(graph, x);
    return rest.valid() && originOf(graph, rest) == originOf(graph, y);
  };
  return a && b && (isRest(a->probability, b->probability) || isRest(b->probability, a->probability)) &&
         (isRest(a->answer, b->answer) || isRest(b->answer, a->answer));
}

/// The row of probabilities, picked from by a row of 0 and 1, or by the class itself.
bool isPicked(const Graph& graph, const Node& node) {
  static constexpr auto kSoftmax = std::to_array<std::string_view>({"Softmax", "aten._softmax"});
  if (node.opType == "aten.gather" && node.inputs.size() == 2)
    return isOneOf(makerOf(graph, node.inputs[0]), kSoftmax) &&
           isData(graph, originOf(graph, node.inputs[1]));
  if (node.opType != "ReduceSum" || graph.tensor(node.outputs.front()).shape.rank() == 0) return false;
  const std::optional<Factors> factors = factorsOf(graph, node.inputs.front());
  if (!factors || !isOneOf(makerOf(graph, factors->probability), kSoftmax)) return false;
  const Node* rows = makerOf(graph, factors->answer);
  return rows && rows->opType == "OneHot";
}

/// Of each probability its mean, iteration by iteration.
class RightAnswer : public Evaluator {
 public:
  explicit RightAnswer(const Graph& graph) : m_outcome(graph) {
    for (const Node& node : graph.nodes())
      if (node.phase == core::Phase::kForward && !node.outputs.empty() &&
          (isOfTwoAnswers(graph, node) || isPicked(graph, node)))
        m_answers.push_back({node.outputs.front(), {}});
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    for (Answer& answer : m_answers) {
      const core::Rank rank = context.rankWith(answer.tensor);
      const StatisticsRow* row = context.ranks.empty() ? nullptr : context.rows.now(rank, answer.tensor);
      // Rows of a larger tensor, or what is not 0 and 1, make no probability.
      if (!row || row->values.nonFinite() > 0 || row->values.min < 0 || row->values.max > 1 + kRounding)
        continue;
      ++context.evaluated;
      answer.means.push_back({context.iteration, row->values.mean});
    }
  }

  void finish(EvaluationContext& context) override {
    const std::span<const Outcome::Loss> losses = m_outcome.losses();
    if (losses.size() < kLeast || !m_outcome.finite() || !fallsClearly(losses, 2)) return;
    for (const Answer& answer : m_answers) {
      const std::span<const Outcome::Loss> means = answer.means;
      if (means.size() < kLeast) continue;
      const double first = windowOf(means.first(means.size() / 4)).mean,
                   last = windowOf(means.last(means.size() / 4)).mean;
      if (fallsClearly(means, kErrors) && last < kLess * first) return add(context, answer, first, last);
      const double from = windowOf(losses.first(kBegin)).mean,
                   to = windowOf(losses.last(losses.size() / 4)).mean;
      if (from > 0 && to >= 0 && to < kNothing * from && last < kHalfRight)
        return addNothingLeft(context, answer, last, from, to);
    }
  }

 private:
  static constexpr std::size_t kLeast = 40;  // iterations
  static constexpr std::size_t kBegin = 3;   // iterations of the first loss, before much is learnt
  static constexpr double kErrors = 4;       // of the difference of both means
  static constexpr double kLess = 0.8;       // of what it began with
  static constexpr double kRounding = 1e-5;
  // A loss that falls with p and is convex, as they all are, is above f(0.65) where the mean of p is: of the
  // logarithm and of focal losses 6 % and more of what guessing one of a thousand costs.
  static constexpr double kNothing = 0.05, kHalfRight = 0.65;
  struct Answer {
    TensorId tensor;
    std::vector<Outcome::Loss> means;
  };

  static void add(EvaluationContext& context, const Answer& answer, double first, double last) {
    Finding finding = findingAtNode(
        context, context.graph().tensor(answer.tensor).producer,
        "it is the probability that the right answer is given, and training makes it small: " +
            core::formatShort(first) + " on average over the first " +
            std::to_string(answer.means.size() / 4) + " iterations, " + core::formatShort(last) +
            " over the last, while the loss falls: a sign or a factor in the loss is turned round");
    finding.iteration = answer.means.front().iteration;
    finding.actual = last, finding.preset = kLess * first;
    context.findings.push_back(std::move(finding));
  }

  /// A hint: a mask may leave out what is not learnt.
  static void addNothingLeft(EvaluationContext& context, const Answer& answer, double right, double from,
                             double to) {
    Finding finding =
        findingAtNode(context, context.graph().tensor(answer.tensor).producer,
                      "it is the probability that the right answer is given, " + core::formatShort(right) +
                          " on average at the end, and yet the loss has fallen from " +
                          core::formatShort(from) + " to " + core::formatShort(to) +
                          ": wrong answers cost next to nothing; is a factor in the loss turned round?");
    finding.iteration = answer.means.front().iteration;
    finding.severity = Severity::kHint;
    finding.actual = right, finding.preset = kHalfRight;
    context.findings.push_back(std::move(finding));
  }
  std::vector<Answer> m_answers;
  Outcome m_outcome;
};

}  // namespace

ConditionDef rightAnswerCondition() {
  ConditionDef def;
  def.id = "right_answer";
  def.title = "Right answers become unlikely";
  def.doc =
      "p * y + (1 - p) * (1 - y), or the probability that a row of 0 and 1, or a class of the batch, picks "
      "from a softmax: its mean over the last quarter of 40 iterations and more is below that of the first "
      "by "
      "four errors of their difference and a fifth, while the loss falls. A hint: it is below 0.75 though "
      "the "
      "loss fell to a twentieth.";
  def.advice =
      "Look at what the loss multiplies the logarithm with: a focal loss has (1 - p) ** gamma, not p ** "
      "gamma; "
      "and at its sign.";
  def.target = Target::kLoss;
  def.make = [](const Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<RightAnswer>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
