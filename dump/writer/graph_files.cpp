#include "dump/writer/graph_files.h"

#include "core_engine/graph/sources.h"
#include "core_engine/tensor/statistics.h"
#include "dump/codec/sha256.h"
#include "dump/commit_file.h"

namespace msdbg::dump {
namespace {

core::Status createFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return core::Error(core::ErrorCode::kIo, "cannot create " + folder.string() + ": " + error.message());
  return core::Ok{};
}

// Copies have the name of their content: equal files are stored once, also by several graph versions.
core::Status writeSources(const std::filesystem::path& folder, core::Rank rank, const core::Graph& graph,
                          GraphLine& line) {
  core::Graph copy = graph;  // frames are resolved already; only the texts are wanted
  const core::SourceTexts texts = core::resolveSources(copy);
  MSDBG_TRY(createFolder(folder));
  for (const auto& [file, text] : texts) {
    const std::string digest = sha256(text);
    line.sources[file] = digest;
    MSDBG_TRY(commitShared(folder / digest, text, rank));
  }
  return core::Ok{};
}

}  // namespace

core::Result<GraphLine> writeGraph(const std::filesystem::path& run, core::Rank rank, std::int64_t version,
                                   const core::Graph& graph, std::string_view bytes) {
  GraphLine line;
  line.graph = version;
  line.bytes = bytes.size();
  line.hash = core::hashBytes(std::as_bytes(std::span(bytes.data(), bytes.size()))).text();
  line.file = "graphs/" + line.hash + ".pb";
  MSDBG_TRY(writeSources(run / "sources", rank, graph, line));
  MSDBG_TRY(createFolder(run / "graphs"));
  MSDBG_TRY(commitShared(run / line.file, bytes, rank));
  MSDBG_TRY(syncFolder(run));
  return line;
}

}  // namespace msdbg::dump
