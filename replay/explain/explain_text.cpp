#include "replay/explain/explain_text.h"

#include <fmt/format.h>

#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/tensor/index_text.h"
#include "replay/describe.h"

namespace msdbg::replay {

using core::Graph;

namespace {

std::string number(double value) { return core::formatShort(value, 6); }

std::string elementName(const Graph& graph, core::TensorId tensor, const core::Shape& shape,
                        std::optional<std::int64_t> element) {
  const std::string name = tensorName(graph.tensor(tensor));
  if (!element || shape.rank() == 0 || *element >= shape.elements()) return name;
  return fmt::format("{}[{}]", name, core::indexText(shape, *element));
}

std::string factorText(const Graph& graph, const ExplainedFactor& f, core::Rank rank) {
  return fmt::format("{}{} ({})", elementName(graph, f.tensor, f.shape, f.element),
                     f.rank == rank ? "" : fmt::format(" of rank {}", f.rank.value), number(f.value));
}

std::string termText(const Graph& graph, const ExplainedTerm& term, core::Rank rank) {
  std::vector<std::string> parts;
  if (term.factors.empty()) return "the constant " + number(term.contribution);
  const bool value = term.coefficient == 1 && term.factors.size() == 1 &&
                     term.contribution != term.factors[0].value &&
                     !(std::isnan(term.contribution) && std::isnan(term.factors[0].value));
  if (term.coefficient != 1) parts.push_back(number(term.coefficient));
  for (const ExplainedFactor& f : term.factors) parts.push_back(factorText(graph, f, rank));
  return (value ? "by " : "") + core::join(parts, " * ");
}

std::string argumentsText(const Graph& graph, const ExplainedStep& step) {
  std::vector<std::string> parts;
  for (const ExplainedFactor& f : step.terms.arguments) parts.push_back(factorText(graph, f, step.rank));
  if (step.terms.reads > static_cast<std::int64_t>(parts.size())) parts.emplace_back("…");
  return core::join(parts, ", ");
}

std::string manyText(const Graph& graph, const ExplainedStep& step, const std::string& op) {
  const ExplainedTerms& t = step.terms;
  if (t.readsNotFinite == 0)
    return fmt::format("{} over {}: {}", op, counted(t.reads, "element"), argumentsText(graph, step));
  return fmt::format("{} over {}, of which {} {} not finite: {}", op, counted(t.reads, "element"),
                     groupedNumber(t.readsNotFinite), t.readsNotFinite == 1 ? "is" : "are",
                     factorText(graph, t.arguments.front(), step.rank));
}

std::string sumText(const ExplainedStep& step, const std::string& op) {
  const ExplainedTerms& t = step.terms;
  std::string text = fmt::format("{}, the sum of {}", op, counted(t.count, "term"));
  if (step.madeHere) text += ", is not finite, each of them is";
  if (t.notFinite > 0)
    return text + fmt::format(", of which {} {} not finite:", groupedNumber(t.notFinite),
                              t.notFinite == 1 ? "is" : "are");
  if (t.cancels())
    text += fmt::format("; they cancel: {:.2g} % of their magnitudes is left",
                        100 * std::abs(t.sum) / t.magnitude);
  return text + (static_cast<std::int64_t>(t.largest.size()) < t.count ? "; the largest:" : ":");
}

std::string sourceText(const Graph& graph, const Explanation& all, std::size_t at) {
  const ExplainedStep& step = all.steps[at];
  const core::TensorInfo& info = graph.tensor(step.tensor);
  if (at + 1 < all.steps.size())
    return fmt::format("{}, as the update of iteration {} made it", core::roleName(info.role),
                       all.steps[at + 1].iteration.value);
  return std::string(core::roleName(info.role));
}

std::string operatorOf(const Graph& graph, const ExplainedStep& step) {
  return step.node.valid() ? graph.node(step.node).opType : std::string();
}

}  // namespace

std::string stepHead(const Graph& graph, const ExplainedStep& step) {
  std::string text = elementName(graph, step.tensor, step.shape, step.element);
  if (step.value) text += " = " + number(*step.value);
  if (!step.unusual.empty()) text += ", " + step.unusual;
  return text;
}

std::vector<std::string> stepLines(const Graph& graph, const Explanation& all, std::size_t at) {
  const ExplainedStep& step = all.steps[at];
  if (!step.node.valid()) return {sourceText(graph, all, at)};
  if (!step.reason.empty()) return {"by statistics: " + step.reason};
  if (!step.relation) return {};
  const std::string op = operatorOf(graph, step);
  const ExplainedTerms& t = step.terms;
  const std::string made = step.madeHere ? ": not finite, of what is" : "";
  switch (*step.relation) {
    case Relation::kFunction:
      return {fmt::format("{} of {}{}", op, argumentsText(graph, step), made)};
    case Relation::kMany:
      return {manyText(graph, step, op) + made};
    case Relation::kCopy:
    case Relation::kChoice: {
      if (t.largest.empty()) return {fmt::format("{} of {}", op, argumentsText(graph, step))};
      std::string text =
          fmt::format("{}: the value of {}", op, termText(graph, t.largest.front(), step.rank));
      if (t.reads > 0) text += ", by " + argumentsText(graph, step);
      return {text};
    }
    case Relation::kSum:
      break;
  }
  if (t.count == 0) return {op + ", the sum of no term"};
  if (t.count == 1) return {fmt::format("{}: {}{}", op, termText(graph, t.largest.front(), step.rank), made)};
  std::vector<std::string> lines = {sumText(step, op)};
  for (const ExplainedTerm& term : t.largest)
    lines.push_back(fmt::format(
        "  {:>5}  {} = {}", std::isfinite(term.contribution) ? fmt::format("{:.0f} %", 100 * term.share) : "",
        number(term.contribution), termText(graph, term, step.rank)));
  return lines;
}

namespace {

std::string placeText(const Graph& graph, const ExplainedStep& step) {
  const std::string place = placeOf(graph.userFrame(framesOf(graph, step.tensor)));
  return fmt::format("{}{} in iteration {} on rank {}",
                     step.node.valid() ? graph.node(step.node).name : tensorName(graph.tensor(step.tensor)),
                     place.empty() ? "" : " (" + place + ")", step.iteration.value, step.rank.value);
}

std::string valueText(const ExplainedStep& step) {
  return step.value ? number(*step.value) : "what is not finite";
}

std::string madeText(const Graph& graph, const ExplainedStep& step) {
  const ExplainedTerms& t = step.terms;
  const std::string op = operatorOf(graph, step);
  const bool overflow = step.value && std::isinf(*step.value) && t.count > 0;
  std::string of = argumentsText(graph, step);
  if (t.count > 1)
    of = fmt::format("{} that add up to {}, the largest {}", counted(t.count, "finite term"), number(t.sum),
                     number(t.largest.front().contribution));
  else if (t.count == 1)
    of = termText(graph, t.largest.front(), step.rank);
  return fmt::format("{} made {} of {}{}", placeText(graph, step), valueText(step), of,
                     overflow ? ": it overflowed" : "");
}

std::string endText(const Graph& graph, const Explanation& all) {
  const ExplainedStep& last = all.steps.back();
  const std::string what = stepHead(graph, last);
  switch (all.cause) {
    case CauseKind::kSample:
      if (all.sample)
        return fmt::format("{} is in sample {} of the batch of iteration {} on rank {}", what, *all.sample,
                           last.iteration.value, last.rank.value);
      return fmt::format("{} is an input of iteration {} on rank {}", what, last.iteration.value,
                         last.rank.value);
    case CauseKind::kHyperparameter:
      return fmt::format("{} is what the program set for iteration {}", what, last.iteration.value);
    case CauseKind::kConstant:
      return what + " is a constant of the graph";
    case CauseKind::kInitial:
      return fmt::format("{} is as iteration {} began: no update before it is recorded", what,
                         last.iteration.value);
    case CauseKind::kSetOutside:
      return fmt::format("{} was set by the program before iteration {}, not by an update", what,
                         last.iteration.value);
    case CauseKind::kUpdate:
      return fmt::format("{} is what the update of iteration {} made of it; it is as usual", what,
                         last.iteration.value);
    case CauseKind::kOperator:
      return fmt::format("{} comes from {}: what that reads is as usual", what, placeText(graph, last));
    case CauseKind::kNotReproduced:
      return fmt::format(
          "{}: from what it read the operator gives {} here, not what was recorded: a planted fault, memory "
          "or the "
          "machine "
          "(msdbg replay --prove tells)",
          placeText(graph, last), all.why.empty() ? "nothing but finite numbers" : all.why);
    case CauseKind::kSpread:
      return fmt::format("{} adds up from many terms, none of which is half of it", what);
    case CauseKind::kUnknown:
      return fmt::format(
          "the way ends at {}: {}", what,
          all.why.empty() ? std::string("what it read is not recorded, or as usual") : all.why);
    case CauseKind::kDepth:
      return fmt::format("the way goes on behind {}: --depth allows more steps", what);
    case CauseKind::kLoop:
      return fmt::format("{} was on the way before", what);
  }
  return {};
}

}  // namespace

std::vector<std::string> causeLines(const Graph& graph, const Explanation& all) {
  std::vector<std::string> lines;
  if (all.steps.empty()) return lines;
  if (all.made) lines.push_back(madeText(graph, all.steps[*all.made]));
  const bool told = all.made && *all.made + 1 == all.steps.size() && all.cause == CauseKind::kOperator;
  if (!told) lines.push_back(endText(graph, all));
  return lines;
}

std::string causeName(CauseKind kind) {
  switch (kind) {
    case CauseKind::kSample:
      return "sample";
    case CauseKind::kHyperparameter:
      return "hyperparameter";
    case CauseKind::kConstant:
      return "constant";
    case CauseKind::kInitial:
      return "initial";
    case CauseKind::kSetOutside:
      return "set_outside";
    case CauseKind::kUpdate:
      return "update";
    case CauseKind::kOperator:
      return "operator";
    case CauseKind::kNotReproduced:
      return "not_reproduced";
    case CauseKind::kSpread:
      return "spread";
    case CauseKind::kUnknown:
      return "unknown";
    case CauseKind::kDepth:
      return "depth";
    case CauseKind::kLoop:
      return "loop";
  }
  return {};
}

std::string relationName(Relation relation) {
  switch (relation) {
    case Relation::kCopy:
      return "copy";
    case Relation::kSum:
      return "sum";
    case Relation::kChoice:
      return "choice";
    case Relation::kFunction:
      return "function";
    case Relation::kMany:
      return "many";
  }
  return {};
}

}  // namespace msdbg::replay
