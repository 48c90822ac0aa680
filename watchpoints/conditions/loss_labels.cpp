// What the recorder found in the labels of a loss of tokens, whose values it does not keep.
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
  checkPadding(context);
}

}  // namespace msdbg::watch
