// What two runs were made with and given, and their graphs, for people.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/diff_view.h"
#include "app/cli/table.h"
#include "app/cli/unified_diff.h"

namespace msdbg::app {

using core::printable;

namespace {

void printFact(const std::string& name, const std::string& text) { printDiffFact(name, text); }

std::string counting(const core::Graph& graph, const std::vector<core::TensorId>& sources,
                     const std::vector<core::NodeId>& nodes, bool all) {
  std::vector<std::string> names;
  for (const core::TensorId id : sources) names.push_back(printable(graph.tensor(id).name));
  for (const core::NodeId id : nodes) names.push_back(printable(graph.node(id).name));
  const std::size_t shown = all ? names.size() : std::min(kDiffLines, names.size());
  std::string text = core::join(std::span(names).first(shown), ", ");
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

}  // namespace

void printConfigurationDiff(const DiffView& view) {
  const auto& configuration = view.found.configuration;
  fmt::print("\nCONFIGURATION\n");
  if (configuration.empty()) fmt::print("  the same\n");
  Table table({"", "A", "B"});
  for (const replay::ConfigurationDifference& each : configuration)
    table.row({each.what, each.a.empty() ? "-" : each.a, each.b.empty() ? "-" : each.b});
  if (!configuration.empty()) fmt::print("{}", table.text(2));
}

void printSourcesDiff(const DiffView& view) {
  for (const replay::SourceDifference& each : view.found.sources) {
    if (!each.inA || !each.inB) {
      fmt::print("  source {} is only in {}\n", printable(each.file), each.inA ? "A" : "B");
      continue;
    }
    fmt::print("  source {} differs\n", printable(each.file));
    const std::string diff = unifiedDiff(view.a.run->sourceText(each.file).value_or(""),
                                         view.b.run->sourceText(each.file).value_or(""), "A", "B");
    const std::vector<std::string> lines = core::split(diff, '\n');
    constexpr std::size_t kMostLines = 24;
    const std::size_t shown = view.all ? lines.size() : std::min(kMostLines, lines.size());
    for (std::size_t i = 0; i < shown; ++i)
      if (!lines[i].empty()) fmt::print("    {}\n", printable(lines[i]));
    if (shown < lines.size()) fmt::print("    and {} more lines (--all)\n", lines.size() - shown);
  }
}

void printGivenDiff(const DiffView& view) {
  fmt::print("\nGIVEN\n");
  for (const replay::GivenGroup& group : view.found.given) {
    std::string text;
    if (group.first)
      text = fmt::format("differ first in iteration {} ({}): {}", group.first->iterationA.value,
                         view.a.run->rankCount() == view.b.run->rankCount()
                             ? fmt::format("rank {}", group.first->rankA.value)
                             : "all ranks put together",
                         nameOf(view, *group.first));
    else if (group.compared > 0)
      text = fmt::format("equal ({} compared)", counted(group.compared, "tensor"));
    else
      text = view.found.allJudged ? "nothing of it is recorded on both"
                                  : "not to be compared: each data-parallel rank has samples of its own";
    fmt::print("  {:<17}{}\n", group.name, text);
  }
}

void printGraphDiff(const DiffView& view) {
  const replay::GraphDifference& g = view.found.graph;
  fmt::print("\nGRAPH\n");
  if (g.same()) {
    fmt::print("  the same: {}\n", counted(g.nodesA, "node"));
    return;
  }
  fmt::print("  {} of {} nodes of A are among the {} of B\n", groupedNumber(g.aligned),
             groupedNumber(g.nodesA), groupedNumber(g.nodesB));
  printFact("only in A", counting(view.a.graph(), g.sourcesOnlyA, g.onlyA, view.all));
  printFact("only in B", counting(view.b.graph(), g.sourcesOnlyB, g.onlyB, view.all));
  const std::size_t renamed = view.all ? g.renamed.size() : std::min(kDiffLines, g.renamed.size());
  for (std::size_t i = 0; i < renamed; ++i)
    printFact("renamed", fmt::format("{} -> {} (by {})", printable(view.a.graph().node(g.renamed[i].a).name),
                                     printable(view.b.graph().node(g.renamed[i].b).name),
                                     replay::alignedByName(g.renamed[i].by)));
  if (renamed < g.renamed.size())
    printFact("", fmt::format("and {} more are renamed", g.renamed.size() - renamed));
  const std::size_t changed = view.all ? g.changed.size() : std::min(kDiffLines, g.changed.size());
  for (std::size_t i = 0; i < changed; ++i)
    printFact("changed",
              printable(view.a.graph().node(g.changed[i].a).name) + ": " + printable(g.changed[i].what));
  if (changed < g.changed.size())
    printFact("", fmt::format("and {} more are changed", g.changed.size() - changed));
}

}  // namespace msdbg::app
