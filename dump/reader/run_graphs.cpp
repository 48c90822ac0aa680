#include "dump/reader/run_graphs.h"

#include <algorithm>
#include <charconv>
#include <ranges>
#include <vector>

#include "core_engine/graph/graph_io.h"
#include "core_engine/tensor/statistics.h"
#include "dump/commit_file.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kLargestGraph = 256u << 20;

// Before format 1.2 rank 0 wrote those of all: graph_0007.pb -> 7
std::optional<std::int64_t> versionOf(std::string_view name) {
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

// graphs/ and 32 hexadecimal digits: what a journal names must not lead out of the folder.
bool isShared(std::string_view name) {
  constexpr std::string_view kFolder = "graphs/", kSuffix = ".pb";
  return name.size() == kFolder.size() + 32 + kSuffix.size() && name.starts_with(kFolder) &&
         name.ends_with(kSuffix) && std::ranges::all_of(name.substr(kFolder.size(), 32), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Those that there are, whoever names them.
std::vector<std::string> filesIn(const std::filesystem::path& run) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run, error))
    if (versionOf(entry.path().filename().string())) files.push_back(entry.path().filename().string());
  for (const auto& entry : std::filesystem::directory_iterator(run / "graphs", error))
    if (std::string name = "graphs/" + entry.path().filename().string(); isShared(name))
      files.push_back(std::move(name));
  std::ranges::sort(files);
  return files;
}

core::Error wrongHash(const std::filesystem::path& file, const std::string& journal) {
  return {core::ErrorCode::kDamaged,
          file.string() + ": does not match its hash in " + journal +
              ", so nothing that it says can be trusted; restore the file from a copy of the run"};
}

// The graph of a file, held against the hash that `who` says it has.
core::Result<core::Graph> readGraphFile(const std::filesystem::path& run, const std::string& file,
                                        const std::string& hash, const std::string& who) {
  if (!versionOf(file) && !isShared(file))
    return core::Error(core::ErrorCode::kDamaged, "'" + file + "' is no name of a graph");
  MSDBG_ASSIGN(const std::string bytes, readFile(run / file, kLargestGraph));
  const auto span = std::as_bytes(std::span(bytes.data(), bytes.size()));
  MSDBG_ASSIGN(core::Graph graph, core::parseGraph(span, (run / file).string()));
  if (!hash.empty() && core::hashBytes(span).text() != hash) return wrongHash(run / file, who);
  return graph;
}

}  // namespace

class RunGraphs::Loader {
 public:
  Loader(const std::filesystem::path& run, const std::function<void(Damage)>& lost)
      : m_run(run), m_lost(lost) {}

  // Who has several graphs wants to see the newest as it is.
  void loadNewest(const std::map<std::int64_t, RankIndex>& ranks) {
    for (const auto& [rank, index] : ranks) {
      const std::vector<GraphLine>& lines = index.journal.graphs;
      const auto newest = std::ranges::max_element(lines, {}, &GraphLine::graph);
      if (newest != lines.end() && load(newest->file, newest->hash, journalOf(rank))) return;
    }
  }

  void loadListed(const std::map<std::int64_t, RankIndex>& ranks) {
    for (const auto& [rank, index] : ranks)
      for (const GraphLine& line : index.journal.graphs) {
        if (rank > 0 && isShared(line.file)) m_ownVersions = true;
        const auto graph = load(line.file, line.hash, journalOf(rank));
        m_versions[{rank, line.graph}] = graph;
        m_fileOf[{rank, line.graph}] = line.file;
      }
  }

  // What the journals do not name was written just before its line, or they are lost.
  void loadOthers() {
    std::vector<std::string> others;
    for (const std::string& file : filesIn(m_run))
      if (!m_loaded.contains(file)) others.push_back(file);
    for (const std::string& file : others | std::views::reverse) {
      const bool isOnly = m_versions.empty() && others.size() == 1;
      const std::optional<std::int64_t> version = versionOf(file);
      if (!version && !isOnly) continue;  // nobody can say when it was computed
      const auto graph = load(file, hashInName(file), "its name");
      m_versions.try_emplace({0, version.value_or(0)}, graph);
      m_fileOf.try_emplace({0, version.value_or(0)}, file);
    }
  }

  core::Result<RunGraphs> finish() {
    if (!m_graphs)
      return m_error.value_or(
          core::Error(core::ErrorCode::kDamaged, m_run.string() + ": its graphs are lost"));
    for (const auto& [file, error] : m_errors) m_lost({file, error.message(), core::Rank(), {}});
    m_graphs->m_versions = std::move(m_versions);
    m_graphs->m_files = std::move(m_loaded);
    m_graphs->m_fileOf = std::move(m_fileOf);
    m_graphs->m_ownVersions = m_ownVersions;
    return std::move(*m_graphs);
  }

 private:
  static std::string journalOf(std::int64_t rank) { return "rank_" + std::to_string(rank) + "/journal"; }

  std::optional<std::size_t> load(const std::string& file, const std::string& hash, const std::string& who) {
    const auto [known, isNew] = m_loaded.try_emplace(file);
    if (!isNew) return known->second;
    core::Result<core::Graph> graph = readGraphFile(m_run, file, hash, who);
    if (!graph.ok()) {
      if (!m_error) m_error = graph.error();
      m_errors.emplace_back(file, graph.error());
      return std::nullopt;
    }
    if (!m_graphs)
      m_graphs = RunGraphs(std::move(*graph));
    else
      m_graphs->m_union.add(*graph);
    return known->second = m_graphs->m_union.size() - 1;
  }

  const std::filesystem::path& m_run;
  const std::function<void(Damage)>& m_lost;
  std::optional<RunGraphs> m_graphs;
  std::map<std::string, std::optional<std::size_t>> m_loaded;  // by file
  std::map<std::pair<std::int64_t, std::int64_t>, std::optional<std::size_t>> m_versions;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> m_fileOf;
  std::vector<std::pair<std::string, core::Error>> m_errors;  // by file
  std::optional<core::Error> m_error;                         // the first
  bool m_ownVersions = false;
};

std::vector<std::string> RunGraphs::files(const std::filesystem::path& run) { return filesIn(run); }

std::string RunGraphs::hashInName(const std::string& file) {
  return isShared(file) ? file.substr(7, 32) : "";
}

bool RunGraphs::any(const std::filesystem::path& run) { return !filesIn(run).empty(); }

core::Result<RunGraphs> RunGraphs::load(const std::filesystem::path& run,
                                        const std::map<std::int64_t, RankIndex>& ranks,
                                        const std::function<void(Damage)>& lost) {
  Loader loader(run, lost);
  loader.loadNewest(ranks);
  loader.loadListed(ranks);
  loader.loadOthers();
  return loader.finish();
}

const core::GraphPart* RunGraphs::part(core::Rank rank, std::int64_t version) const {
  const auto found = m_versions.find({m_ownVersions ? rank.value : 0, version});
  return found == m_versions.end() || !found->second ? nullptr : &m_union.part(*found->second);
}

// It was held against the journal's hash when it was loaded; its name, or that it can be read, must do now.
core::Result<core::Graph> RunGraphs::read(const std::filesystem::path& run, core::Rank rank,
                                          std::int64_t version) const {
  const auto file = m_fileOf.find({m_ownVersions ? rank.value : 0, version});
  if (file == m_fileOf.end())
    return core::Error(core::ErrorCode::kUnavailable, run.string() + ": the graph of rank " +
                                                          std::to_string(rank.value) + ", version " +
                                                          std::to_string(version) + " is not there");
  return readGraphFile(run, file->second, hashInName(file->second), "its name");
}

bool RunGraphs::learn(core::Rank rank, const GraphLine& line) {
  const auto file = m_files.find(line.file);
  if (file == m_files.end()) return false;
  m_versions.try_emplace({rank.value, line.graph}, file->second);
  m_fileOf.try_emplace({rank.value, line.graph}, line.file);
  m_ownVersions = m_ownVersions || (rank.value > 0 && isShared(line.file));
  return true;
}

const core::TensorInfo* RunGraphs::describe(const core::GraphPart* part, core::TensorId tensor) {
  if (!part) return &whole().tensor(tensor);
  if (!part->has(tensor)) return nullptr;
  if (!part->differs(whole(), tensor)) return &whole().tensor(tensor);
  const auto [known, isNew] = m_described.try_emplace({part, tensor});
  if (isNew) known->second = part->info(whole(), tensor);
  return &known->second;
}

std::vector<const core::TensorInfo*> RunGraphs::tensorsOf(const core::GraphPart* part) {
  const auto count = part ? part->tensorCount() : static_cast<std::int64_t>(whole().tensors().size());
  std::vector<const core::TensorInfo*> tensors;
  tensors.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    tensors.push_back(describe(part, part ? part->tensorAt(i) : core::TensorId(i)));
  return tensors;
}

core::TensorId RunGraphs::find(const core::GraphPart* part, const std::string& fullName) const {
  return part ? part->find(whole(), fullName) : whole().findTensor(fullName).value_or(core::TensorId());
}

}  // namespace msdbg::dump
