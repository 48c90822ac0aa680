#include <algorithm>
#include <regex>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Iteration;

/// Where the failure is shown: in the iteration it is known to be in, else after the last recorded one.
Iteration iterationOf(const EvaluationContext& context, const Source::RunFailure& failure) {
  if (failure.iteration.valid()) return failure.iteration;
  const std::vector<Iteration> recorded = context.source.iterations(failure.rank);
  return recorded.empty() ? Iteration(0) : recorded.back();
}

/// A rank of which nothing was recorded is nobody's choice, so it is told whatever ranks were chosen.
bool wanted(const EvaluationContext& context, const Source::RunFailure& failure) {
  const std::vector<core::Rank> recorded = context.source.ranks();
  return std::ranges::count(context.allRanks, failure.rank) > 0 ||
         std::ranges::count(recorded, failure.rank) == 0;
}

/// Whether the text names the line that was refused, as the errors of a graph that cannot be built do:
/// "(a.cpp:9)".
bool namesALine(const std::string& text) {
  static const std::regex place(R"(\([^()]+:[0-9]+\))");
  return std::regex_search(text, place);
}

/// What is behind messages of PyTorch that many a user meets.
struct Known {
  std::string_view text, advice;
};
constexpr Known kKnown[] = {
    {"Trying to backward through the graph a second time",
     "Something that an iteration before computed is still part of this loss, and backward() has freed its "
     "graph: detach what is carried from step to step (state = state.detach(), for each of a tuple), or "
     "add up losses before one backward(). retain_graph=True hides it, and makes each step slower."},
    {"has been modified by an inplace operation",
     "A value that backward() needs was written over: +=, .add_(), x[...] = y, or a step of an optimizer "
     "between forward and backward. Write the line that changes it without in place; "
     "torch.autograd.set_detect_anomaly(True) names the operator that needs it."},
    {"does not require grad and does not have a grad_fn",
     "No operator with a gradient leads from a parameter to the loss: was it computed under no_grad(), of "
     "detach(), item(), argmax(), a comparison, round() or a new tensor, or is all of the model frozen?"},
    {"index out of range in self",
     "An index is not below the number of rows of its table (nn.Embedding): do the ids begin at 1, are there "
     "new ones, or does a token for padding or unknown lie outside?"},
    {"is out of bounds",
     "A class or an index is too large for the classes or rows that there are: do the labels begin at 1, "
     "has the last layer an output for each class, is what is to be left out the loss's ignore_index?"},
    {"expected scalar type",
     "Two dtypes meet: classes are int64 (.long()), what an error compares is float32 (.float()), and NumPy "
     "gives float64 unless it is asked otherwise."},
    {"must have the same dtype",
     "Two dtypes meet: NumPy gives float64 unless it is asked otherwise; what is computed under autocast has "
     "16 bits, what is computed outside of it has not."},
    {"shapes cannot be multiplied",
     "A layer expects another number of features than it is given: print the shape before it. A flatten() "
     "that takes the batch along ends so, and a layer that was made for images of another size."},
    {"out of memory",
     "Keep no graphs from step to step (loss.item() for what is only printed, no_grad() for evaluation), "
     "then lower the batch, or recompute activations (torch.utils.checkpoint)."},
    {"to be on the same device",
     "Something was left on the CPU: move the model before the optimizer is made, move each batch, and make "
     "tensors within forward() where its input lies (device=x.device), or keep them by register_buffer()."},
};

/// Of an exception of Python alone: other programs have words of their own.
std::string_view knownAdvice(const std::string& text) {
  const std::size_t message = text.find("Error: ");
  if (message == std::string::npos) return {};
  for (const Known& known : kKnown)
    if (text.find(known.text, message) != std::string::npos) return known.advice;
  return {};
}

/// Better than the condition's own, where the text tells more than a node would; else "".
std::string adviceOf(const Source::RunFailure& failure) {
  if (failure.text.find("; Python was at ") != std::string::npos)
    return "Look at the line of Python that the detail names: what it calls ended the process, by an "
           "assertion in C++, memory that is not there, or on purpose. The node is the last that is known to "
           "have run.";
  if (const std::string_view advice = knownAdvice(failure.text); !advice.empty()) return std::string(advice);
  if (failure.text.find("; ranks that did not come: ") != std::string::npos)
    return "Another rank ended or stood still, and this one waited for it at the line that is named: look at "
           "what that rank did last, its output, exit status or signal (out of memory is signal 9).";
  if (!failure.node.valid() && namesALine(failure.text))
    return "Mend the line that the detail names: what is written there was refused before it could be "
           "computed.";
  return "";
}

class RunFailed : public Evaluator {
 public:
  void evaluate(EvaluationContext&) override {}
  void finish(EvaluationContext& context) override {
    for (const Source::RunFailure& failure : context.source.failures()) {
      const Iteration iteration = iterationOf(context, failure);
      if (!wanted(context, failure) || !context.selected(iteration)) continue;
      ++context.evaluated;
      Finding finding;
      finding.iteration = iteration;
      finding.rank = failure.rank;
      finding.node = failure.node;
      // An exception of a Python program is a node that computes nothing.
      if (failure.node.valid() && context.graph().node(failure.node).domain != "python")
        finding.tensor = context.graph().node(failure.node).outputs.front();
      finding.detail = failure.text;
      finding.precedence = precedence::kFailure;
      finding.advice = adviceOf(failure);
      context.findings.push_back(std::move(finding));
    }
  }
};

}  // namespace

ConditionDef runFailedCondition() {
  ConditionDef def;
  def.id = "run_failed";
  def.title = "Run failed";
  def.doc =
      "A rank did not come to its end in good order: an operator refused its inputs, an exception, a signal, "
      "an exit status, or it stopped answering. Taken from how the run ended; a run that was stopped by its "
      "user or goes on has not failed.";
  def.advice =
      "The detail says what happened. Where a node is named, look at its line and at its inputs; where none "
      "is, the program ended outside of an iteration: see its own output.";
  def.target = Target::kRun;
  def.rowsOnly = true;
  def.make = [](const core::Graph&, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<RunFailed>();
  };
  def.notOnline = [](const Parameters&, bool) { return std::string("it is known when the run has ended"); };
  return def;
}

}  // namespace msdbg::watch
