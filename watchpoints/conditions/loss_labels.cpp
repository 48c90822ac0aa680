// What the recorder found in the labels of a loss of tokens, whose values it does not keep.
#include <algorithm>
#include <span>
#include <vector>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;

/// With another loss over the next tokens themselves, the model is meant to look further ahead.
void checkShift(EvaluationContext& context) {
  const Graph& graph = context.graph();
  const Node* found = nullptr;
  for (const Node& loss : graph.nodes()) {
    if (loss.attributes.contains(std::string(fact::kNextOf))) return;
    if (!found && loss.attributes.contains(std::string(fact::kAfterNextOf))) found = &loss;
  }
  if (!found) return;
  const std::string tokens = foreignAttribute(*found, fact::kAfterNextOf, std::string());
  Finding finding = findingAtNode(context, found->id,
                                  "its classes are the tokens two places on from those that " + tokens +
                                      " reads: the labels were shifted twice, and the next token is never "
                                      "asked for");
  finding.advice =
      "Shift once: a model that shifts by itself (those of Hugging Face with labels=) is given labels that "
      "are its input_ids.";
  context.findings.push_back(std::move(finding));
}

/// What an operator's rows are made of, each of one row; none: it exchanges axes, or mixes rows. With views
/// that are folded into it an operator keeps the name that it has in PyTorch. A copy may be that of a
/// transposed view.
std::span<const core::TensorId> rowsOf(const Node& node) {
  static constexpr auto kAll = std::to_array<std::string_view>(
      {"Add", "Sub", "Mul", "Div", "aten.add", "aten.sub", "aten.mul", "aten.div"});
  static constexpr auto kOurs =
      std::to_array<std::string_view>({"LogSoftmax", "Reshape", "Flatten", "Cast", "Gemm", "MatMul",
                                       "Dropout", "LayerNormalization", "Gelu", "Relu", "Tanh", "Sigmoid"});
  static constexpr auto kTheirs = std::to_array<std::string_view>(
      {"aten._log_softmax", "aten.mm", "aten.linear", "aten.native_layer_norm", "aten.native_dropout",
       "aten.gelu", "aten.relu", "aten.silu"});
  const std::span<const core::TensorId> inputs = node.inputs;
  if (isOneOf(&node, kAll)) return inputs;
  if (isOneOf(&node, kOurs) || isOneOf(&node, kTheirs))
    return inputs.first(std::min<std::size_t>(inputs.size(), 1));
  if (node.opType == "aten.addmm" && inputs.size() > 1) return inputs.subspan(1, 1);
  return {};
}

/// All axes but the last are the same in both, or one axis in one of them; else a view between them exchanges
/// some.
bool keepsRows(const core::Shape& a, const core::Shape& b) {
  if (!a.known() || !b.known() || a.rank() < 2 || b.rank() < 2) return false;
  const auto rows = [](const core::Shape& shape) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i + 1 < shape.rank(); ++i) product *= shape[i];
    return product;
  };
  if (rows(a) != rows(b)) return false;
  if (a.rank() == 2 || b.rank() == 2) return true;
  if (a.rank() != b.rank()) return false;
  for (std::size_t i = 0; i + 1 < a.rank(); ++i)
    if (a[i] != b[i]) return false;
  return true;
}

/// Whether each row of the tensor is of the place where the embedding put it: nothing on one way between them
/// exchanges axes. Of axes of one length nobody can tell.
bool keepsOrderOf(const Graph& graph, core::TensorId tensor, std::string_view embedding) {
  std::vector<core::TensorId> open = {tensor};
  std::vector<bool> seen(graph.tensors().size());
  while (!open.empty()) {
    const core::TensorId next = open.back();
    open.pop_back();
    if (seen[next.index()]) continue;
    seen[next.index()] = true;
    const Node* node = producerOf(graph, next);
    if (!node) continue;
    const core::Shape& shape = graph.tensor(next).shape;
    if (node->name == embedding) return shape.known() && shape.rank() == 3 && shape[0] != shape[1];
    for (const core::TensorId input : rowsOf(*node))
      if (keepsRows(shape, graph.tensor(input).shape)) open.push_back(input);
  }
  return false;
}

/// The rows of the logits are of (place, sample), the classes of (sample, place), or the other way round.
void checkOrder(EvaluationContext& context) {
  const Graph& graph = context.graph();
  for (const Node& loss : graph.nodes()) {
    const std::string tokens = foreignAttribute(loss, fact::kNextAcross, std::string());
    if (tokens.empty() || loss.inputs.empty() || !keepsOrderOf(graph, loss.inputs.front(), tokens)) continue;
    Finding finding = findingAtNode(
        context, loss.id,
        "its rows and its classes are flattened in different orders, one sample after the other and one "
        "place "
        "after the other: each row is compared with the next token of another place; the rows have the order "
        "of " +
            tokens);
    finding.advice =
        "Transpose one of the two before both are flattened: logits.transpose(0, 1), or the labels' .t().";
    return context.findings.push_back(std::move(finding));
  }
}

/// A hint: the end of a text may be meant to be learnt by it.
void checkPadding(EvaluationContext& context) {
  for (const Node& loss : context.graph().nodes()) {
    const double share = foreignAttribute(loss, fact::kCountsPadding, 0.0);
    if (share <= 0) continue;
    const std::string padding = std::to_string(foreignAttribute<std::int64_t>(loss, fact::kPadding, 0));
    Finding finding =
        findingAtNode(context, loss.id,
                      core::formatShort(100 * share) + " % of the labels that it counts are " + padding +
                          ", the token that fills rows up: the loss is made small by "
                          "learning where texts end");
    finding.severity = Severity::kHint;
    finding.advice = "F.cross_entropy(…, ignore_index=" + padding + "), or -100 in the labels there.";
    return context.findings.push_back(std::move(finding));
  }
}

void checkBlank(EvaluationContext& context) {
  for (const Node& loss : context.graph().nodes()) {
    if (!loss.attributes.contains(std::string(fact::kHoldsBlank))) continue;
    const std::string blank = std::to_string(foreignAttribute<std::int64_t>(loss, fact::kHoldsBlank, 0));
    Finding finding = findingAtNode(context, loss.id,
                                    "its labels hold " + blank +
                                        ", which is its blank: what stands for nothing cannot be read, and a "
                                        "class is taken for it");
    finding.advice = "Begin the classes at 1, or name another blank: ctc_loss(…, blank=number of classes).";
    return context.findings.push_back(std::move(finding));
  }
}

}  // namespace

void checkLabels(EvaluationContext& context) {
  checkBlank(context);
  checkShift(context);
  checkOrder(context);
  checkPadding(context);
}

}  // namespace msdbg::watch
