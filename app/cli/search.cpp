// msdbg search: a source line -> its nodes, kernels and tensors; a name or type -> nodes and their lines.
#include "replay/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/run_access.h"
#include "app/cli/table.h"
#include "core_engine/base/text.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;

// Whether the value itself is stored of any rank and iteration.
bool storedAnywhere(const OpenedRun& run, core::TensorId tensor) {
  return std::ranges::any_of(run.run->ranks(),
                             [&](core::Rank rank) { return run.run->storedAnywhere(rank, tensor); });
}

Json kernelsJson(const core::Graph& graph, core::NodeId node) {
  Json list = Json::array();
  for (const core::KernelId id : graph.kernelsOf(node)) {
    const core::Kernel& kernel = graph.kernels()[id.index()];
    Json nodes = Json::array();
    for (const core::NodeId n : kernel.nodes) nodes.push_back(graph.node(n).name);
    list.push_back({{"name", kernel.name}, {"order", kernel.id.value}, {"nodes", nodes}});
  }
  return list;
}

Json tensorsJson(const OpenedRun& run, const core::Node& node) {
  Json list = Json::array();
  for (const core::TensorId id : node.outputs) {
    const core::TensorInfo& tensor = run.graph().tensor(id);
    list.push_back({{"name", tensor.fullName()},
                    {"dtype", core::dtypeName(tensor.dtype)},
                    {"shape", shapeJson(tensor.shape)},
                    {"stored", storedAnywhere(run, id)},
                    {"alias", textOrNull(tensor.alias)}});
  }
  return list;
}

Json nodeJson(const OpenedRun& run, const core::Node& node) {
  const core::Graph& graph = run.graph();
  return {{"name", node.name},
          {"op_type", node.opType},
          {"domain", node.domain},
          {"phase", core::phaseName(node.phase)},
          {"derived_from", node.derivedFrom.valid() ? Json(graph.node(node.derivedFrom).name) : Json()},
          {"kernels", kernelsJson(graph, node.id)},
          {"frames", framesJson(graph, node.frames)},
          {"tensors", tensorsJson(run, node)},
          {"order", node.id.value}};
}

Json resultJson(const OpenedRun& run, const std::string& query, const replay::SearchResult& result) {
  Json json = document("search");
  json["query"] = query;
  json["nodes"] = Json::array();
  for (const core::NodeId id : result.nodes) json["nodes"].push_back(nodeJson(run, run.graph().node(id)));
  json["run"] = run.path;
  json["file"] = textOrNull(result.file);
  json["nearest_lines"] = result.nearestLines;
  return json;
}

std::string kernelText(const core::Graph& graph, core::NodeId node) {
  std::vector<std::string> names;
  for (const core::KernelId id : graph.kernelsOf(node)) names.push_back(graph.kernels()[id.index()].name);
  return core::join(names, ", ");
}

void printNodes(const OpenedRun& run, const replay::SearchResult& result) {
  const core::Graph& graph = run.graph();
  Table table({"node", "phase", "kernel", "output", "stored", "line"});
  for (const core::NodeId id : result.nodes) {
    const core::Node& node = graph.node(id);
    const core::TensorInfo* output = node.outputs.empty() ? nullptr : &graph.tensor(node.outputs.front());
    table.row({node.name, std::string(core::phaseName(node.phase)), kernelText(graph, id),
               output ? typeText(*output) : "", output && storedAnywhere(run, output->id) ? "yes" : "",
               placeOf(graph.userFrame(node.frames))});
  }
  fmt::print("{}", table.text());
}

// The line that was asked for, above its nodes.
void printLineCode(const OpenedRun& run, const replay::SearchResult& result) {
  if (result.file.empty() || result.nodes.empty()) return;
  const core::Frame* frame = run.graph().userFrame(run.graph().node(result.nodes.front()).frames);
  if (frame)
    fmt::print("{}:{}   {}\n\n", core::printable(frame->file), frame->line, core::printable(frame->code));
}

Error noNodes(const std::string& query, const replay::SearchResult& result) {
  std::vector<std::string> lines;
  for (const std::int32_t line : result.nearestLines) lines.push_back(std::to_string(line));
  return {ErrorCode::kNotFound, fmt::format("{} makes no node; the nearest lines of {} that do: {}", query,
                                            result.file, core::join(lines, ", "))};
}

core::Result<int> search(const std::vector<std::string>& arguments, const Context& context) {
  MSDBG_ASSIGN(const RunAndQuery what, splitRunAndQuery(arguments, "what to search for (FILE:LINE or TEXT)"));
  MSDBG_ASSIGN(const OpenedRun run, openRun(what.run));
  MSDBG_ASSIGN(const replay::SearchResult result, replay::search(run.graph(), what.query));
  if (context.json) printJson(resultJson(run, what.query, result));
  if (result.nodes.empty()) return noNodes(what.query, result);
  if (!context.json) {
    printLineCode(run, result);
    printNodes(run, result);
  }
  return kExitFine;
}

Command::Run setup(CLI::App& options, Context& context) {
  auto arguments = std::make_shared<std::vector<std::string>>();
  options
      .add_option("[RUN] QUERY", *arguments,
                  "FILE:LINE, FILE:FIRST-LAST, or TEXT: a name, a part of one, a glob, an operator type, "
                  "the class of a module, a part of a line")
      ->expected(0, 2);
  return [arguments, &context] { return search(*arguments, context); };
}

}  // namespace

Command searchCommand() {
  return {.name = "search",
          .summary = "a source line -> its nodes and kernels; a name -> nodes and lines",
          .examples =
              "  msdbg search alexnet.cpp:52              what this line became\n"
              "  msdbg search alexnet.cpp:50-55\n"
              "  msdbg search alexnet-1.msdbg ConvGradWeight\n"
              "  msdbg search '*conv3*' --json\n",
          .setup = setup};
}

}  // namespace msdbg::app
