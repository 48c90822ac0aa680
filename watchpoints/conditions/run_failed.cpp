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

/// Better than the condition's own, where the text tells more than a node would; else "".
std::string adviceOf(const Source::RunFailure& failure) {
  if (failure.text.find("; Python was at ") != std::string::npos)
    return "Look at the line of Python that the detail names: what it calls ended the process, by an "
           "assertion in C++, memory that is not there, or on purpose. The node is the last that is known to "
           "have run.";
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
