#include "replay/recorded_from.h"

#include <algorithm>

#include "core_engine/base/text.h"

namespace msdbg::replay {
namespace {

std::string libraryOf(const RunDescription& run, std::string_view name) {
  const auto found = std::ranges::find(run.libraries, name,
                                       [](const auto& library) { return std::string_view(library.first); });
  return found == run.libraries.end() ? "" : found->second;
}

}  // namespace

std::string recordedFrom(const RunDescription& run) {
  const std::string torch = libraryOf(run, "torch"), level = libraryOf(run, "level"),
                    python = libraryOf(run, "python"), attempt = libraryOf(run, "attempt");
  if (torch.empty()) return {};
  return "PyTorch " + torch + (level.empty() ? "" : " (level " + level + ")") +
         (python.empty() ? "" : ", Python " + python) + (attempt.empty() ? "" : ", attempt " + attempt);
}

std::int64_t compiledRegions(const core::Graph& graph) {
  return std::ranges::count_if(graph.nodes(), [](const core::Node& node) {
    return node.opType == "compiled" && node.domain == "torch" && node.phase == core::Phase::kForward;
  });
}

std::string deeperCommand(const RunDescription& run, const watch::Hit& hit) {
  const core::Iteration iteration = hit.iteration;
  if (libraryOf(run, "torch").empty() || libraryOf(run, "level") == "ops") return {};
  if (!iteration.valid() || hit.order == watch::Hit::kAfterAll) return {};
  auto begin = std::ranges::find(run.command, "--");  // of msdbg dump; else it is the program's own
  begin = begin == run.command.end() ? run.command.begin() : begin + 1;
  if (begin == run.command.end()) return {};
  const std::int64_t first = std::max<std::int64_t>(iteration.value - 1, 0);
  std::string text = "msdbg dump --level ops --iterations " + std::to_string(first) + "-" +
                     std::to_string(iteration.value + 1) + " --";
  for (auto word = begin; word != run.command.end(); ++word) text += " " + core::shellQuoted(*word);
  return text;
}

}  // namespace msdbg::replay
