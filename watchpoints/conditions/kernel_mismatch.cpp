#include <fmt/format.h>

#include "core_engine/base/text.h"
#include "core_engine/tensor/index_text.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using Recheck = Source::Recheck;

std::string detailOf(const core::TensorInfo& tensor, const Recheck::Mismatch& mismatch) {
  if (mismatch.count == 0)
    return "from the same inputs its kernel gives other bytes here (its value is not stored: the hash tells)";
  return fmt::format(
      "from the same inputs its kernel gives other bytes here: {} of {} elements, the first [{}]: "
      "recorded {}, here {}",
      mismatch.count, tensor.shape.elements(), core::indexText(tensor.shape, mismatch.element),
      core::formatShort(mismatch.recorded, 9), core::formatShort(mismatch.here, 9));
}

class KernelMismatch : public Evaluator {
 public:
  explicit KernelMismatch(std::vector<bool> chosen) : m_chosen(std::move(chosen)) {}

  void evaluate(EvaluationContext& context) override {
    for (const core::Rank rank : context.ranks) {
      if (context.cancel.cancelled()) return;
      const core::Result<Recheck> recheck = context.source.recheck(rank, context.iteration);
      if (!recheck.ok()) {
        notEvaluable(context, {context.iteration, rank, {}}, "no_value", recheck.error().message());
        continue;
      }
      context.evaluated += recheck->outputs;
      for (const Recheck::Mismatch& mismatch : recheck->mismatches)
        if (m_chosen[mismatch.tensor.index()])
          add(context, {context.iteration, rank, mismatch.tensor}, mismatch);
    }
  }

 private:
  static void add(EvaluationContext& context, const Place& place, const Recheck::Mismatch& mismatch) {
    // Of a collective its own conditions tell more: which rank it was.
    const core::NodeId node = context.graph().tensor(place.tensor).producer;
    const bool collective = node.valid() && context.graph().node(node).phase == core::Phase::kCollective;
    Finding finding =
        findingAt(context, place, collective ? precedence::kCollective + 1 : precedence::kKernel);
    finding.actual = static_cast<double>(mismatch.count);
    finding.count = mismatch.count;
    if (mismatch.count > 0) finding.element = mismatch.element;
    finding.detail = detailOf(context.graph().tensor(place.tensor), mismatch);
    context.findings.push_back(std::move(finding));
  }

  std::vector<bool> m_chosen;  // by tensor
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters& parameters, bool) {
  const auto all = selectTensors(graph, [](const core::TensorInfo& tensor) { return !tensor.isSource(); });
  std::vector<bool> chosen(graph.tensors().size());
  for (const core::TensorId tensor : chosenTensors(graph, parameters, all)) chosen[tensor.index()] = true;
  return std::make_unique<KernelMismatch>(std::move(chosen));
}

std::string notOnline(const Parameters&, bool) { return "needs the recording: msdbg check --recheck"; }

}  // namespace

ConditionDef kernelMismatchCondition() {
  ConditionDef def;
  def.id = "kernel_mismatch";
  def.title = "Kernel mismatch";
  def.doc =
      "A node computed again from its recorded inputs, with the same kernel, differs in any bit from its "
      "recorded"
      " output (msdbg). Needs the values of parameters, states and inputs of the iteration, and no history;"
      " `check --recheck` asks it.";
  def.advice =
      "One wrong bit is the machine's memory: look at its logs. Many wrong elements, or one node again and "
      "again,"
      " are a kernel that is wrong or not deterministic, or a planted fault: replay --prove computes twice.";
  def.parameters = {tensorsParameter()};
  def.needsValues = true;
  def.make = make;
  def.notOnline = notOnline;
  return def;
}

}  // namespace msdbg::watch
