#include <charconv>

#include "core_engine/graph/graph_io.h"
#include "core_engine/tensor/statistics.h"
#include "dump/reader/run_reader_internal.h"
#include "dump/writer/commit_file.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kLargestGraph = 256u << 20;

// graph_0007.pb -> 7
std::optional<std::int64_t> versionOf(const std::string& name) {
  constexpr std::string_view kPrefix = "graph_", kSuffix = ".pb";
  if (name.size() <= kPrefix.size() + kSuffix.size() || !name.starts_with(kPrefix) ||
      !name.ends_with(kSuffix))
    return {};
  std::int64_t version = 0;
  const char* end = name.data() + name.size() - kSuffix.size();
  const auto [stop, code] = std::from_chars(name.data() + kPrefix.size(), end, version);
  if (code != std::errc() || stop != end || version < 0) return {};
  return version;
}

}  // namespace

core::Result<LoadedGraph> loadGraph(const std::filesystem::path& run, std::int64_t version) {
  std::string best;
  std::int64_t bestVersion = -1;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run, error)) {
    const std::string name = entry.path().filename().string();
    const auto found = versionOf(name);
    if (!found || (version >= 0 && *found != version) || *found < bestVersion) continue;
    best = name;
    bestVersion = *found;
  }
  if (best.empty()) {
    return core::Error(core::ErrorCode::kMissing,
                       run.string() + ": no " +
                           (version < 0 ? "graph_*.pb: the program ended before its graph was complete"
                                        : "graph of version " + std::to_string(version)));
  }
  MSDBG_ASSIGN(const std::string bytes, readFile(run / best, kLargestGraph));
  const auto span = std::as_bytes(std::span(bytes.data(), bytes.size()));
  MSDBG_ASSIGN(core::Graph graph, core::parseGraph(span, (run / best).string()));
  return LoadedGraph{std::move(graph), best, core::hashBytes(span).text()};
}

core::Status RunReader::Impl::checkGraph(const std::string& file, const std::string& hash) const {
  const auto rank0 = ranks.find(0);
  if (rank0 == ranks.end()) return core::Ok{};
  for (const GraphLine& line : rank0->second.journal.graphs)
    if (line.file == file && line.hash != hash)
      return core::Error(core::ErrorCode::kDamaged,
                         (folder / file).string() +
                             ": does not match its hash in rank_0/journal, so nothing that it says can be "
                             "trusted; restore the file from a copy of the run");
  return core::Ok{};
}

}  // namespace msdbg::dump
