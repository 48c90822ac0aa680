#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/cli/diff_view.h"
#include "app/cli/table.h"
#include "replay/recompute_way.h"
#include "replay/user_steps.h"

namespace msdbg::app {

using core::formatShort;
using core::printable;
using replay::Agreement;
using replay::Comparison;
using replay::ComparisonMode;
using replay::TensorComparison;

std::string nameOf(const DiffView& view, const TensorComparison& c) {
  const std::string a = printable(tensorName(view.a.graph().tensor(c.a)));
  if (!c.b.valid()) return a;
  const std::string b = printable(tensorName(view.b.graph().tensor(c.b)));
  return a == b ? a : a + " | " + b;
}

namespace {

std::string typesText(const DiffView& view, const TensorComparison& c) {
  return typeText(view.a.graph().tensor(c.a)) + " against " + typeText(view.b.graph().tensor(c.b));
}

std::string statisticsText(const TensorComparison& c) {
  const auto& [a, b] = *c.statistics;
  std::string text =
      fmt::format("mean {} against {}, std {} against {}, min {} against {}, max {} against {}",
                  formatShort(a.mean), formatShort(b.mean), formatShort(a.std), formatShort(b.std),
                  formatShort(a.min), formatShort(b.min), formatShort(a.max), formatShort(b.max));
  if (a.nonFinite() != b.nonFinite())
    text +=
        fmt::format(", not finite {} against {}", groupedNumber(a.nonFinite()), groupedNumber(b.nonFinite()));
  if (c.atLeast > 0) text += fmt::format("; some element differs by at least {}", formatShort(c.atLeast, 4));
  return text;
}

// How values that are not stored can be had.
std::string wayToValues(const DiffView& view) {
  const auto canBeComputed = [](const OpenedRun& opened) {
    return replay::RecomputeWays(*opened.run).longest().has_value();
  };
  return canBeComputed(view.a) && canBeComputed(view.b) ? "--compute computes them again"
                                                        : "a recording with --policy full has them";
}

void printEvidence(const DiffView& view, const TensorComparison& c) {
  if (c.otherType) printDiffFact("type", typesText(view, c));
  if (c.measures)
    printMeasures(*c.measures, c.lastBit, view.nameA, view.nameB);
  else if (c.statistics)
    printDiffFact("statistics", statisticsText(c));
  if (c.measures || c.otherType) return;
  const char* what = c.by == replay::ComparedBy::kStatistics ? "statistics" : "hashes";
  printDiffFact("values",
                view.found.mode == ComparisonMode::kComputed
                    ? "not stored: only the hashes tell"
                    : fmt::format("not stored on both: only the {} tell ({})", what, wayToValues(view)));
}

std::string readText(const TensorComparison& c) {
  switch (c.verdict) {
    case Agreement::kEqual:
      return "equal";
    case Agreement::kWithin:
      return "within the tolerance";
    case Agreement::kDifferent:
    case Agreement::kUndecided:
      return c.measures
                 ? fmt::format("differs: max abs {}, {} of the largest", formatShort(c.measures->maxAbs, 4),
                               formatShort(c.measures->scaled(), 3))
                 : std::string(c.otherType ? "of another type" : "differs");
    case Agreement::kUnknown:
      return c.b.valid() ? "not recorded" : "only in the first";
    case Agreement::kByNature:
      return "of other samples";
  }
  return "";
}

// "attribute alpha: 0.1 -> 0.2" where the node itself is another one; "".
std::string changedText(const DiffView& view, const TensorComparison& c) {
  const core::NodeId node = view.a.graph().tensor(c.a).producer;
  const auto changed =
      std::ranges::find(view.found.graph.changed, node, &replay::GraphDifference::Changed::a);
  return changed == view.found.graph.changed.end() ? "" : changed->what;
}

std::string nameInB(const DiffView& view, core::TensorId tensor) {
  return printable(tensorName(view.b.graph().tensor(tensor)));
}

std::string originText(const DiffView& view, const replay::FirstDifference& first) {
  if (view.a.graph().tensor(first.what.a).role == core::TensorRole::kConstant)
    return "it is a constant of the program, and another one in B";
  if (const std::string what = first.what.order < 0 ? "" : changedText(view, first.what); !what.empty())
    return "the node is another one in B: " + printable(what);
  if (first.what.order < 0) {
    if (first.equalAfterUpdate)
      return *first.equalAfterUpdate
                 ? "nothing computes it: it was equal after the update before, so memory or "
                   "the program changed it"
                 : "it differed after the update before";
    return "nothing computes it: it is given, or an initial value";
  }
  for (std::size_t i = 0; i < first.instead.size(); ++i)
    if (first.instead[i].valid())
      return fmt::format("B reads {} instead of {}: the program did something else before",
                         nameInB(view, first.instead[i]), nameOf(view, first.reads[i]));
  if (first.what.inputsDiffer) return "its inputs differ too";
  if (first.what.inputsByNature)
    return "it reads other samples on both, and should come to the same: it or they are wrong";
  return first.what.inputsUnknown ? "not all of its inputs are recorded"
                                  : "all that it reads is equal: it begins here";
}

void printFirst(const DiffView& view) {
  const replay::FirstDifference& first = *view.found.first;
  const TensorComparison& c = first.what;
  const std::string rank = c.rankA == c.rankB ? fmt::format("rank {}", c.rankA.value)
                                              : fmt::format("ranks {} and {}", c.rankA.value, c.rankB.value);
  fmt::print("\nFIRST DIFFERENCE: {}, iteration {}, {}\n", nameOf(view, c),
             replay::iterationText(*view.a.run, c.rankA, c.iterationA), rank);
  const std::string lineA = sourceLine(view.a.graph().userFrame(framesOf(view.a.graph(), c.a)));
  const std::string lineB = sourceLine(view.b.graph().userFrame(framesOf(view.b.graph(), c.b)));
  printDiffFact("line", printable(lineA));
  if (lineA != lineB) printDiffFact("in B", printable(lineB));
  if (first.kernelA == first.kernelB || first.kernelA.empty() || first.kernelB.empty())
    printDiffFact("kernel", printable(first.kernelA.empty() ? first.kernelB : first.kernelA));
  else
    printDiffFact("kernel", printable(first.kernelA) + " against " + printable(first.kernelB));
  printDiffFact("why here", originText(view, first));
  for (std::size_t i = 0; i < first.reads.size(); ++i) {
    const core::TensorId instead = i < first.instead.size() ? first.instead[i] : core::TensorId();
    printDiffFact("reads", fmt::format("{}: {}", nameOf(view, first.reads[i]), readText(first.reads[i])));
    if (!instead.valid()) continue;
    const std::string line = sourceLine(view.b.graph().userFrame(framesOf(view.b.graph(), instead)));
    printDiffFact("in B",
                  fmt::format("{}{}{}", nameInB(view, instead), line.empty() ? "" : "   ", printable(line)));
  }
  printEvidence(view, c);
}

// What is not finite on one side is as far away as can be.
double distance(const replay::Measures& m, double ofFinite) {
  return m.otherNonFinite() ? std::numeric_limits<double>::infinity() : ofFinite;
}

std::vector<std::string> cells(const DiffView& view, const TensorComparison& c) {
  std::vector<std::string> row = {c.order < 0 ? "-" : std::to_string(c.order), nameOf(view, c),
                                  replay::iterationText(*view.a.run, c.rankA, c.iterationA),
                                  std::to_string(c.rankA.value)};
  if (!c.measures) {
    row.insert(row.end(), {"", c.atLeast > 0 ? ">= " + formatShort(c.atLeast, 3) : "", "", "", "", ""});
    row.emplace_back(c.otherType                          ? typesText(view, c)
                     : c.verdict == Agreement::kUndecided ? "nobody knows how much"
                                                          : "");
    return row;
  }
  const replay::Measures& m = *c.measures;
  row.insert(
      row.end(),
      {percentText(m.share()), formatShort(distance(m, m.maxAbs), 3), formatShort(distance(m, m.maxRel), 3),
       formatShort(distance(m, m.scaled()), 3), std::isnan(m.cosine) ? "" : formatShort(m.cosine, 7),
       m.ulps ? groupedNumber(static_cast<std::int64_t>(std::min<std::uint64_t>(m.maxUlp, INT64_MAX))) : ""});
  const std::string kinds = kindsText(m);
  row.push_back(!kinds.empty() && m.otherNonFinite() ? kinds
                : c.verdict == Agreement::kWithin    ? "within the tolerance"
                : c.order >= 0 && !c.inputsDiffer && !c.inputsUnknown && !c.inputsByNature ? "begins here"
                                                                                           : "");
  return row;
}

void printDifferent(const DiffView& view) {
  const auto& different = view.found.different;
  if (different.empty()) return;
  fmt::print("\nDIFFERENT, in the order in which they are computed\n");
  Table table({">order", "tensor", ">iteration", ">rank", ">differ", ">max abs", ">max rel", ">of largest",
               ">cosine", ">max ulp", ""});
  const std::size_t shown = view.all ? different.size() : std::min(kDiffLines, different.size());
  for (std::size_t i = 0; i < shown; ++i) table.row(cells(view, different[i]));
  fmt::print("{}", table.text(2));
  if (shown < different.size())
    fmt::print("  and {} more (--all lists them, --json has them)\n", different.size() - shown);
  const auto scaled = [](const TensorComparison& c) {
    return c.measures ? distance(*c.measures, c.measures->scaled()) : -1;
  };
  const auto worst = std::ranges::max_element(different, {}, scaled);
  if (worst->measures && std::isfinite(scaled(*worst)) && scaled(*worst) > 0 && different.size() > 1)
    fmt::print("  the furthest apart: {}, by {} of its largest number\n", nameOf(view, *worst),
               formatShort(worst->measures->scaled(), 3));
}

void printCourse(const DiffView& view) {
  const auto& course = view.found.course;
  if (course.size() < 2) return;
  fmt::print("\nFROM THERE ON\n");
  Table table({">iteration", ">differ", ">of", ">loss", ">loss of B"});
  std::size_t step = 1;
  for (std::size_t i = 0; i < course.size();) {
    const replay::StepSummary& s = course[i];
    table.row({replay::iterationText(*view.a.run, view.a.run->ranks().front(), s.a),
               groupedNumber(s.counts.different), groupedNumber(s.counts.compared()),
               s.lossA ? formatShort(*s.lossA) : "-", s.lossB ? formatShort(*s.lossB) : "-"});
    if (i + 1 == course.size()) break;
    i = std::min(i + step, course.size() - 1);
    if (!view.all && course.size() > 2 * kDiffLines) step *= 2;
  }
  fmt::print("{}", table.text(2));
}

std::string comparedText(const Comparison& found) {
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", groupedNumber(count), what));
  };
  add(found.counts.equal, "equal");
  add(found.counts.within, "within the tolerance");
  add(found.counts.different, "different");
  add(found.counts.undecided, "different by an unknown amount");
  add(found.counts.unknown, "not recorded on both");
  add(found.counts.byNature, "not to be compared");
  return core::join(parts, ", ");
}

std::string sharedNodes(const replay::GraphDifference& graph) {
  return fmt::format("{} of {} nodes of A are among the {} of B", groupedNumber(graph.aligned),
                     groupedNumber(graph.nodesA), groupedNumber(graph.nodesB));
}

std::string agreementText(const Comparison& found) {
  const bool within = found.counts.within > 0;
  if (!found.graph.onlyA.empty() || !found.graph.onlyB.empty())
    return fmt::format("what both have {}: {}",
                       within ? "agrees within the tolerance" : "is equal in every bit",
                       sharedNodes(found.graph));
  if (within) return "they agree within the tolerance";
  return found.allJudged ? "they are equal in every bit" : "what should be equal on both is, in every bit";
}

}  // namespace

std::string diffVerdict(const DiffView& view) {
  const Comparison& found = view.found;
  if (found.compared.empty()) return "they have no iteration in common";
  if (found.counts.compared() == 0) return "nothing is recorded on both, so nothing could be compared";
  if (found.first)
    return fmt::format(
        "they part in iteration {} at {}",
        replay::iterationText(*view.a.run, found.first->what.rankA, found.first->what.iterationA),
        nameOf(view, found.first->what));
  if (found.differs())
    return fmt::format("{} of {} tensors differ", groupedNumber(found.counts.different),
                       groupedNumber(found.counts.compared()));
  if (found.counts.undecided > 0)
    return fmt::format("{} of {} tensors differ, and without values nobody knows by how much: {}",
                       groupedNumber(found.counts.undecided), groupedNumber(found.counts.compared()),
                       wayToValues(view));
  if (found.graph.ofOtherPrograms())
    return "they are of two programs, and cannot be compared: " + sharedNodes(found.graph);
  const std::string agree = agreementText(found);
  if (found.counts.unknown == 0) return agree;
  return fmt::format("{}, of the {} tensors that both have; {} are not recorded on both", agree,
                     groupedNumber(found.counts.compared()), groupedNumber(found.counts.unknown));
}

void printDiff(const DiffView& view) {
  const Comparison& found = view.found;
  fmt::print("A {}, B {}: {}\n", printable(view.nameA), printable(view.nameB), diffVerdict(view));
  if (!found.compared.empty())
    fmt::print("  {}, tolerance {}; tensors: {}\n", replay::numbered("iteration", found.compared),
               found.tolerance.text(), comparedText(found));
  if (!found.onlyA.empty()) fmt::print("  only in A: {}\n", replay::numbered("iteration", found.onlyA));
  if (!found.onlyB.empty()) fmt::print("  only in B: {}\n", replay::numbered("iteration", found.onlyB));
  if (!found.allJudged) fmt::print("  only what should be equal on all ranks is compared\n");
  for (const std::string& note : found.notes) fmt::print("  note: {}\n", printable(note));
  if (found.mode == ComparisonMode::kRuns) {
    printConfigurationDiff(view);
    printSourcesDiff(view);
  }
  if (found.mode == ComparisonMode::kRuns || found.mode == ComparisonMode::kRanks) {
    printGivenDiff(view);
    printGraphDiff(view);
  }
  if (found.first) printFirst(view);
  printDifferent(view);
  printCourse(view);
}

void printValuesDiff(const ValuesView& view) {
  const core::TensorInfo& tensor = view.run.graph().tensor(view.tensor);
  const std::string where = sourceLine(view.run.graph().userFrame(framesOf(view.run.graph(), view.tensor)));
  fmt::print("{}, rank {}, iteration {} against {}: {}\n", printable(tensorName(tensor)), view.rank.value,
             replay::iterationText(*view.run.run, view.rank, view.iteration), printable(view.file),
             view.verdict == Agreement::kEqual    ? "equal in every bit"
             : view.verdict == Agreement::kWithin ? "within the tolerance"
                                                  : "different");
  printDiffFact("line", printable(where));
  printDiffFact("type", fmt::format("{} {} against {}", core::dtypeName(view.measures.dtypeA),
                                    view.measures.shape.text(), core::dtypeName(view.measures.dtypeB)));
  if (view.verdict != Agreement::kEqual) printMeasures(view.measures, view.lastBit, "the run", "the file");
}

}  // namespace msdbg::app
