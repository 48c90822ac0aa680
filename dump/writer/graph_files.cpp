#include "dump/writer/graph_files.h"

#include <cstdio>

#include "core_engine/graph/graph_io.h"
#include "core_engine/graph/sources.h"
#include "core_engine/tensor/statistics.h"
#include "dump/codec/sha256.h"
#include "dump/writer/commit_file.h"

namespace msdbg::dump {
namespace {

std::string graphFileName(std::int64_t version) {
  char name[40];
  std::snprintf(name, sizeof name, "graph_%04lld.pb", static_cast<long long>(version));
  return name;
}

// Copies have the name of their content: equal files are stored once, also by several graph versions.
core::Status writeSources(const std::filesystem::path& folder, const core::Graph& graph, GraphLine& line) {
  core::Graph copy = graph;  // frames are resolved already; only the texts are wanted
  const core::SourceTexts texts = core::resolveSources(copy);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return core::Error(core::ErrorCode::kIo, "cannot create " + folder.string() + ": " + error.message());
  for (const auto& [file, text] : texts) {
    const std::string digest = sha256(text);
    line.sources[file] = digest;
    if (!std::filesystem::exists(folder / digest, error)) MSDBG_TRY(commitFile(folder / digest, text));
  }
  return core::Ok{};
}

}  // namespace

core::Result<GraphLine> writeGraph(const std::filesystem::path& run, const core::Graph& graph) {
  GraphLine line;
  line.graph = graph.version();
  line.file = graphFileName(line.graph);
  const std::string bytes = core::serializeGraph(graph);
  line.bytes = bytes.size();
  line.hash = core::hashBytes(std::as_bytes(std::span(bytes.data(), bytes.size()))).text();
  MSDBG_TRY(writeSources(run / "sources", graph, line));
  MSDBG_TRY(commitFile(run / line.file, bytes));
  return line;
}

}  // namespace msdbg::dump
