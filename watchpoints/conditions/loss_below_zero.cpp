// Losses below zero that cannot be if they are given what they take: told by the loss alone, which every
// recording holds.
#include <array>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/binary_targets.h"
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

const Node* measureOf(const Graph& graph, TensorId loss) {
  const std::vector<bool> learnt = learntTensors(graph);
  const Node* node = producerOf(graph, loss);
  while (node) {
    std::optional<Signed> next = signedInput(graph, *node);
    const bool divides = node->opType == "Div" && node->inputs.size() == 2;
    if (!next && divides && !learnt[node->inputs[1].index()])
      next = Signed{node->inputs[0], false};  // by how much there was
    if (!next || next->negated) return node;
    node = producerOf(graph, next->input);
  }
  return nullptr;
}

std::optional<double> belowZero(EvaluationContext& context, core::Rank rank, TensorId loss) {
  constexpr double kRounding = 1e-3;
  const StatisticsRow* row = context.rows.now(rank, loss);
  if (!row || row->values.nonFinite() > 0 || row->values.max >= -kRounding) return std::nullopt;
  return row->values.max;
}

std::optional<NeverBelowZero> neverBelowZero(const Graph& graph, TensorId loss) {
  static constexpr auto kBinary =
      std::to_array<std::string_view>({"aten.binary_cross_entropy", "aten.binary_cross_entropy_with_logits"});
  static constexpr auto kLikelihoods =
      std::to_array<std::string_view>({"aten.nll_loss_forward", "aten.nll_loss2d_forward", "aten._ctc_loss"});
  const Node* node = measureOf(graph, loss);
  if (!node) return std::nullopt;
  const std::string measure = foreignAttribute<std::string>(*node, fact::kMeasure, "");
  NeverBelowZero never{.node = node->id, .binary = measure == "binary_cross_entropy"};
  if (isOneOf(node, kBinary) && node->inputs.size() > 1) {
    never.binary = true;
    never.given = originOf(graph, node->inputs[1]);
  } else if (isOneOf(node, kLikelihoods) && !node->inputs.empty()) {
    const Node* maker = makerOf(graph, node->inputs.front());
    if (maker && maker->opType == "LogSoftmax") return std::nullopt;
    never.given = node->inputs.front();
  } else if (!never.binary && measure != "nll_loss" && measure != "ctc_loss") {
    return std::nullopt;
  }
  const std::string name = never.given.valid() ? " (" + graph.tensor(never.given).fullName() + ")" : "";
  if (never.binary) {
    never.why = "a binary cross-entropy of targets from 0 to 1 is never below zero: its targets" + name +
                " are not of those";
    never.advice = kBinaryAdvice;
  } else {
    never.why = (measure.empty() ? "a likelihood" : measure) +
                " of logarithms of probabilities is never below zero: what it is given" + name +
                " are none, but probabilities or scores";
    never.advice = "Give it F.log_softmax(logits, dim); F.cross_entropy takes the logits themselves.";
  }
  return never;
}

void checkBelowZero(EvaluationContext& context, TensorId loss) {
  const std::optional<NeverBelowZero> never = neverBelowZero(context.graph(), loss);
  if (!never || never->binary) return;  // target_range, in every iteration
  const core::Rank rank = context.rankWith(loss);
  const std::optional<double> value = belowZero(context, rank, loss);
  if (!value) return;
  if (never->given.valid() && context.rows.now(context.rankWith(never->given), never->given))
    return;  // its values tell
  Finding finding =
      findingAtNode(context, never->node, "the loss is " + core::formatShort(*value) + ", and " + never->why);
  finding.advice = never->advice;
  finding.rank = rank;
  finding.actual = *value;
  context.findings.push_back(std::move(finding));
}

}  // namespace msdbg::watch
