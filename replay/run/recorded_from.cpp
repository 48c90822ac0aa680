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

std::string levelWithoutOperators(const RunDescription& run) {
  const std::string level = libraryOf(run, "level");
  return libraryOf(run, "torch").empty() || level == "ops" ? "" : level;
}

namespace {

/// What ran is what stands behind "--" of msdbg dump, or the program's own command.
std::string atLevelOps(const RunDescription& run, std::int64_t first, std::int64_t last) {
  auto begin = std::ranges::find(run.command, "--");
  begin = begin == run.command.end() ? run.command.begin() : begin + 1;
  if (levelWithoutOperators(run).empty() || begin == run.command.end()) return {};
  std::string text =
      "msdbg dump --level ops --iterations " + std::to_string(first) + "-" + std::to_string(last) + " --";
  for (auto word = begin; word != run.command.end(); ++word) text += " " + core::shellQuoted(*word);
  return text;
}

}  // namespace

std::string deeperCommand(const RunDescription& run, const core::Graph& graph, const watch::Hit& hit) {
  if (hit.writtenAt.valid() && graph.tensor(hit.writtenAt).producer.valid()) return {};  // it names one
  // An exception, or what the recorder itself found: a mark, one flag. Operators would tell no more.
  if (hit.node.valid()) {
    const core::Node& node = graph.node(hit.node);
    const bool mark = node.domain == "torch" && !node.outputs.empty() &&
                      graph.tensor(node.outputs.front()).dtype == core::DType::Bool;
    if (mark || node.domain == "python") return {};
  }
  if (!hit.iteration.valid() || hit.order == watch::Hit::kAfterAll) return {};
  return atLevelOps(run, std::max<std::int64_t>(hit.iteration.value - 1, 0), hit.iteration.value + 1);
}

std::string deeperLook(const RunDescription& run) {
  constexpr std::int64_t kLast = 49;
  return atLevelOps(run, 0, kLast);
}

}  // namespace msdbg::replay
