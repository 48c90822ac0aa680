// RunGraphs: the graphs of a run, of all ranks and versions, as one. Each file is read once, however many
// ranks name it, and let go of once it is in the union. Part of RunReader.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/graph/graph_union.h"
#include "dump/reader/rank_index.h"
#include "dump/reader/run_reader.h"

namespace msdbg::dump {

class RunGraphs {
 public:
  RunGraphs() : m_union(core::Graph()) {}  // of a run without any

  /// Whether the folder has a file of a graph, whatever it holds.
  static bool any(const std::filesystem::path& run);
  /// Their names in the run folder, sorted.
  static std::vector<std::string> files(const std::filesystem::path& run);
  /// That the name of such a file promises; "": none.
  static std::string hashInName(const std::string& file);
  /// What cannot be read is told to `lost` where another one can. kDamaged, kUnsupported: none can, or it
  /// does not have the hash that a journal says.
  static core::Result<RunGraphs> load(const std::filesystem::path& run,
                                      const std::map<std::int64_t, RankIndex>& ranks,
                                      const std::function<void(Damage)>& lost);

  const core::Graph& whole() const { return m_union.graph(); }
  std::size_t count() const { return m_union.size(); }
  /// GraphUnion::isOfFirst(): the newest graph of the first rank is the first.
  bool isOfFirst(core::NodeId node, core::TensorId tensor) const { return m_union.isOfFirst(node, tensor); }
  /// nullptr: nobody knows which graph that is, or it is lost.
  const core::GraphPart* part(core::Rank rank, std::int64_t version) const;
  /// Read again: with the ids that it has itself. kUnavailable: nobody knows which graph that is; kDamaged.
  core::Result<core::Graph> read(const std::filesystem::path& run, core::Rank rank,
                                 std::int64_t version) const;
  /// A line that came since. False: its file was not loaded; open the run again to have it.
  bool learn(core::Rank rank, const GraphLine& line);

  /// A tensor as its graph describes it. nullptr: that has none such.
  const core::TensorInfo* describe(const core::GraphPart* part, core::TensorId tensor);
  core::TensorId find(const core::GraphPart* part, const std::string& fullName) const;
  /// All tensors of a graph in its order, each with the union's id.
  std::vector<const core::TensorInfo*> tensorsOf(const core::GraphPart* part);

 private:
  explicit RunGraphs(core::Graph first) : m_union(std::move(first)) {}
  class Loader;

  core::GraphUnion m_union;
  /// By rank and version; nullopt: it cannot be read.
  std::map<std::pair<std::int64_t, std::int64_t>, std::optional<std::size_t>> m_versions;
  std::map<std::string, std::optional<std::size_t>> m_files;  // by name; nullopt: it cannot be read
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> m_fileOf;  // by rank and version: its name
  bool m_ownVersions = false;  // ranks have versions of their own; else all have rank 0's
  std::map<std::pair<const core::GraphPart*, core::TensorId>, core::TensorInfo> m_described;
};

}  // namespace msdbg::dump
