// msdbg why: from one element back to what made it so.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "app/cli/command.h"
#include "app/cli/computing.h"
#include "app/cli/json_output.h"
#include "app/cli/progress.h"
#include "app/cli/run_access.h"
#include "app/cli/step_options.h"
#include "app/cli/table.h"
#include "core_engine/tensor/index_text.h"
#include "replay/explain/explain_text.h"
#include "replay/user_steps.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

struct WhyOptions {
  std::string run, tensor, index;
  std::optional<std::int64_t> iteration, step, rank;
  std::size_t terms = 3, depth = 200;
  bool storedOnly = false, all = false;
};

Json indexJson(const core::Shape& shape, std::optional<std::int64_t> element) {
  if (!element || *element >= shape.elements()) return {};
  return core::indexOf(shape, *element);
}

Json factorsJson(const core::Graph& graph, const std::vector<replay::ExplainedFactor>& factors) {
  Json list = Json::array();
  for (const replay::ExplainedFactor& f : factors)
    list.push_back({{"tensor", graph.tensor(f.tensor).fullName()},
                    {"rank", f.rank.value},
                    {"index", indexJson(f.shape, f.element)},
                    {"value", number(f.value)}});
  return list;
}

Json termsJson(const core::Graph& graph, const replay::ExplainedTerms& terms) {
  Json json;
  json["count"] = terms.count;
  json["not_finite"] = terms.notFinite;
  json["sum"] = number(terms.sum);
  json["magnitude"] = number(terms.magnitude);
  json["cancels"] = terms.cancels();
  json["largest"] = Json::array();
  for (const replay::ExplainedTerm& term : terms.largest)
    json["largest"].push_back({{"contribution", number(term.contribution)},
                               {"share", number(term.share)},
                               {"coefficient", number(term.coefficient)},
                               {"factors", factorsJson(graph, term.factors)}});
  json["reads"] = terms.reads;
  json["reads_not_finite"] = terms.readsNotFinite;
  json["arguments"] = factorsJson(graph, terms.arguments);
  return json;
}

Json stepJson(const OpenedRun& run, const replay::ExplainedStep& step) {
  const core::Graph& graph = run.graph();
  const core::Node* node = step.node.valid() ? &graph.node(step.node) : nullptr;
  Json json;
  json["tensor"] = graph.tensor(step.tensor).fullName();
  json["iteration"] = step.iteration.value;
  addStep(json, run, step.rank, step.iteration);
  json["rank"] = step.rank.value;
  json["index"] = indexJson(step.shape, step.element);
  json["value"] = numberOrNull(step.value);
  json["unusual"] = textOrNull(step.unusual);
  json["role"] = core::roleName(graph.tensor(step.tensor).role);
  json["node"] = node ? Json(node->name) : Json();
  json["operator"] = node ? Json(node->opType) : Json();
  json["source"] = sourceJson(graph, framesOf(graph, step.tensor));
  json["relation"] = step.relation ? Json(replay::relationName(*step.relation)) : Json();
  json["made_here"] = step.madeHere;
  json["terms"] = step.relation ? termsJson(graph, step.terms) : Json();
  json["reason"] = textOrNull(step.reason);
  return json;
}

// The nodes of the way, once each, as they were met: what a drawing of the graph marks.
Json pathJson(const core::Graph& graph, const replay::Explanation& found) {
  Json path = Json::array();
  for (const replay::ExplainedStep& step : found.steps)
    if (step.node.valid() && (path.empty() || path.back() != graph.node(step.node).name))
      path.push_back(graph.node(step.node).name);
  return path;
}

Json whyJson(const OpenedRun& run, const replay::Beginning& from, const replay::Explanation& found) {
  const core::Graph& graph = run.graph();
  Json json = document("why");
  json["run"] = run.path;
  json["tensor"] = graph.tensor(from.tensor).fullName();
  json["iteration"] = from.iteration.value;
  addStep(json, run, from.rank, from.iteration);
  json["rank"] = from.rank.value;
  json["index"] = indexJson(found.steps.front().shape, found.steps.front().element);
  json["iteration_chosen"] = textOrNull(from.iterationChosen);
  json["index_chosen"] = textOrNull(from.elementChosen);
  json["cause"] = replay::causeName(found.cause);
  json["text"] = replay::causeLines(graph, found);
  json["sample"] = found.sample ? Json(*found.sample) : Json();
  json["made"] = found.made ? Json(*found.made) : Json();
  json["path"] = pathJson(graph, found);
  json["steps"] = Json::array();
  for (const replay::ExplainedStep& step : found.steps) json["steps"].push_back(stepJson(run, step));
  return json;
}

void printStep(const OpenedRun& run, const replay::Explanation& found, std::size_t at) {
  const core::Graph& graph = run.graph();
  const replay::ExplainedStep& step = found.steps[at];
  const replay::ExplainedStep* before = at > 0 ? &found.steps[at - 1] : nullptr;
  if (!before || before->iteration != step.iteration || before->rank != step.rank)
    fmt::print("iteration {}, rank {}\n", replay::iterationText(*run.run, step.rank, step.iteration),
               step.rank.value);
  const auto lineOf = [&](const replay::ExplainedStep& each) {
    return sourceLine(graph.userFrame(framesOf(graph, each.tensor)));
  };
  const std::string place = lineOf(step);
  const bool said = before && lineOf(*before) == place;
  fmt::print("{:>4}  {}{}\n", at, core::printable(replay::stepHead(graph, step)),
             said || place.empty() ? "" : "   " + core::printable(place));
  for (const std::string& line : replay::stepLines(graph, found, at))
    fmt::print("        {}\n", core::printable(line));
}

/// Steps that a reader has seen before: the same operator of the same line, whose value went wrong in the
/// same way, for the third time and more, as the steps of an unrolled recurrent layer are. Never the last
/// ones.
std::vector<bool> repetitions(const core::Graph& graph, const replay::Explanation& found) {
  constexpr std::size_t kLast = 8;
  constexpr int kSeen = 2;
  const auto kindOf = [](std::optional<double> value) {
    return !value ? 0 : std::isnan(*value) ? 1 : std::isinf(*value) ? 2 : 3;
  };
  std::map<std::tuple<std::string, std::string, int>, int> seen;
  std::vector<bool> repeated(found.steps.size());
  for (std::size_t i = 0; i + kLast < found.steps.size(); ++i) {
    const replay::ExplainedStep& step = found.steps[i];
    if (!step.node.valid() || step.madeHere) continue;
    const std::string place = sourceLine(graph.userFrame(framesOf(graph, step.tensor)));
    repeated[i] = ++seen[{graph.node(step.node).opType, place, kindOf(step.value)}] > kSeen;
  }
  return repeated;
}

void printSteps(const OpenedRun& run, const replay::Explanation& found, bool all) {
  constexpr std::size_t kWorthIt = 8;
  std::vector<bool> repeated = repetitions(run.graph(), found);
  for (std::size_t i = 0; i < found.steps.size();) {
    std::size_t end = i;
    while (!all && end < repeated.size() && repeated[end]) ++end;
    if (end - i >= kWorthIt) {
      fmt::print("   …  {} more steps through the same operators and lines ({} to {}); --all shows them\n",
                 end - i, i, end - 1);
      i = end;
      continue;
    }
    for (end = std::max(end, i + 1); i < end; ++i) printStep(run, found, i);
  }
}

void print(const OpenedRun& run, const replay::Beginning& from, const replay::Explanation& found, bool all) {
  const core::Graph& graph = run.graph();
  for (const std::string& chosen : {from.iterationChosen, from.elementChosen})
    if (!chosen.empty())
      fmt::print("{}: {}\n", core::printable(tensorName(graph.tensor(from.tensor))), chosen);
  printSteps(run, found, all);
  fmt::print("\nWHY: ");
  bool first = true;
  for (const std::string& line : replay::causeLines(graph, found)) {
    fmt::print("{}{}\n", first ? "" : "     ", wrapped(core::printable(line), 5, 95));
    first = false;
  }
}

struct Found {
  replay::Beginning from;
  replay::Explanation explanation;
};

Result<Found> find(const OpenedRun& run, WhyOptions options, const Context& context,
                   const Computing& computing, replay::ValueSource* computed) {
  const core::Graph& graph = run.graph();
  MSDBG_ASSIGN(const core::TensorId tensor,
               options.tensor.empty() ? replay::lossOf(graph) : replay::resolveTensor(graph, options.tensor));
  MSDBG_ASSIGN(const core::Rank rank, checkedRank(run, options.rank));
  MSDBG_TRY(takeStep(run, rank, options.step, options.iteration));
  std::optional<core::Iteration> iteration;
  if (options.iteration) {
    MSDBG_TRY(checkIteration(run, rank, *options.iteration));
    iteration = core::Iteration(*options.iteration);
  }
  std::optional<std::int64_t> element;
  if (!options.index.empty()) {
    MSDBG_ASSIGN(element, elementOf(graph.tensor(tensor), options.index));
  }
  Progress progress;
  const replay::ExplainOptions how{
      .cancel = context.cancel,
      .progress = [&](std::int64_t steps) { progress.line(fmt::format("{} back", counted(steps, "step"))); },
      .computed = computed,
      .differs = [&] { return computing.firstDifference(); },
      .otherHere = [&] { return computing.otherHere(); },
      .terms = options.terms,
      .depth = options.depth};
  Found found;
  MSDBG_ASSIGN(found.from, replay::beginningOf(*run.run, tensor, rank, iteration, element, how));
  MSDBG_ASSIGN(found.explanation, replay::explain(*run.run, found.from, how));
  return found;
}

// Nothing but what was asked for is known.
bool nothing(const replay::Explanation& found) {
  return found.cause == replay::CauseKind::kUnknown && found.steps.size() == 1;
}

Result<int> why(const WhyOptions& options, const Context& context) {
  MSDBG_ASSIGN(const OpenedRun run, openRun(options.run));
  Computing computing(run, context);
  replay::ValueSource* computed = nullptr;
  if (!options.storedOnly && run.run->recomputable()) {
    if (auto source = computing.source(); source.ok())
      computed = *source;
    else
      printWarning("only what is stored is followed: " + source.error().message());
  }
  Result<Found> found = find(run, options, context, computing, computed);
  computing.clearProgress();
  if (!found.ok()) return found.error().code() == ErrorCode::kCancelled ? cancelledError() : found.error();
  if (context.json)
    printJson(whyJson(run, found->from, found->explanation));
  else
    print(run, found->from, found->explanation, options.all);
  computing.warnOfEnvironment();
  return nothing(found->explanation) ? kExitNoAnswer : withDamage(run, kExitFine);
}

Command::Run setup(CLI::App& app, Context& context) {
  auto options = std::make_shared<WhyOptions>();
  app.add_option("RUN", options->run, "run folder (default: the newest *.msdbg here)");
  app.add_option("--tensor", options->tensor,
                 "its name, alias or a unique end of the name; default: the loss")
      ->type_name("T");
  app.add_option("--index", options->index,
                 "the element: one number for each dimension, -1 the last; default: the first that is not "
                 "finite, else the largest")
      ->type_name("I,J,…");
  app.add_option("--iteration", options->iteration,
                 "default: the first in which the tensor is not finite, else the last")
      ->type_name("K");
  addStepOption(app, options->step);
  app.add_option("--rank", options->rank, "default: the first")->type_name("R");
  app.add_option("--terms", options->terms, "so many of the largest terms of a sum (default 3)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  app.add_option("--depth", options->depth, "so many steps back at most (default 200)")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  app.add_flag("--all", options->all, "every step, also those that repeat what an unrolled layer did before");
  app.add_flag("--stored", options->storedOnly, "only what is stored: compute nothing again");
  return [options, &context] { return why(*options, context); };
}

}  // namespace

Command whyCommand() {
  return {.name = "why",
          .summary = "from one element back to what made it so",
          .examples =
              "  msdbg why                                              why is the loss not finite?\n"
              "  msdbg why --tensor 'grad(network/fc1/weight)' --index 3,5 --iteration 12\n"
              "  msdbg why alexnet-1.msdbg --tensor conv1/weight --rank 1 --terms 5 --json\n"
              "Back through operators, the optimizer and iterations; of sums the largest terms. What is not\n"
              "stored is computed again.\n",
          .setup = setup};
}

}  // namespace msdbg::app
