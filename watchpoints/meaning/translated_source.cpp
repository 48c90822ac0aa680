#include "watchpoints/meaning/translated_source.h"

#include <algorithm>
#include <map>

#include "core_engine/graph/graph_union.h"
#include "watchpoints/known_rows.h"
#include "watchpoints/meaning/meaning.h"
#include "watchpoints/meaning/wording.h"

namespace msdbg::watch {

const std::vector<std::vector<core::Rank>>& Source::replicaGroups() const {
  static const std::vector<std::vector<core::Rank>> kNone;
  return kNone;
}

class TranslatedSource::Foreign : public Source, public KnownRows {
  using Groups = std::vector<std::vector<core::Rank>>;

 public:
  explicit Foreign(Source& source) : m_source(source), m_graph(inOurTerms(source.graph())) {
    if (isOfTorch(m_graph)) markReplicas();
  }

  const core::Graph& graph() const override { return m_graph; }
  const core::GraphPart* part(core::Rank rank, core::Iteration iteration) const override {
    const core::GraphPart* theirs = m_source.part(rank, iteration);
    if (!theirs) return nullptr;
    const auto [ours, isNew] = m_parts.try_emplace(theirs);
    if (isNew)
      ours->second = theirs->rewritten(
          m_source.graph(), [&](const core::Node& n) { return inOurTermsAs(m_graph.node(n.id), n); });
    return &ours->second;
  }
  bool isWhole(core::NodeId node, core::TensorId tensor) const override {
    return m_source.isWhole(node, tensor);
  }
  std::vector<core::Rank> ranks() const override { return m_source.ranks(); }
  const Groups& replicaGroups() const override { return m_groups; }
  int rankCount() const override { return m_source.rankCount(); }
  std::vector<core::Iteration> iterations(core::Rank rank) const override {
    return m_source.iterations(rank);
  }
  const StatisticsRow* statistics(core::Rank rank, core::Iteration iteration,
                                  core::TensorId tensor) override {
    return m_source.statistics(rank, iteration, tensor);
  }
  const StatisticsRow* flags(core::Rank rank, core::Iteration iteration, core::TensorId tensor) override {
    return m_source.flags(rank, iteration, tensor);
  }
  Rows rowsOf(core::Rank rank, core::Iteration iteration) const override {
    return watch::rowsOf(m_source, rank, iteration);
  }
  std::string missingReason() const override { return m_source.missingReason(); }
  core::Result<core::Tensor> value(core::Rank rank, core::Iteration iteration,
                                   core::TensorId tensor) override {
    return m_source.value(rank, iteration, tensor);
  }
  bool stored(core::Rank rank, core::Iteration iteration, core::TensorId tensor) const override {
    return m_source.stored(rank, iteration, tensor);
  }
  std::optional<double> scalar(core::Rank rank, core::Iteration iteration, const std::string& name) override {
    return m_source.scalar(rank, iteration, name);
  }
  std::vector<RunFailure> failures() const override { return m_source.failures(); }

 private:
  /// No plan says which ranks are replicas: those that begin with the same bits of all parameters. Of shards
  /// some differ, though those of a constant (a norm's ones) do not. It is all ranks, or groups of one size:
  /// a mesh. Else nobody knows: a rank alone is one that began wrong rather than one that is no replica.
  void markReplicas() {
    Groups groups = {m_source.ranks()};
    std::vector<core::TensorId> parameters;
    for (const core::TensorInfo& info : m_source.graph().tensors()) {
      if (info.role != core::TensorRole::kParameter || !info.trainable) continue;
      parameters.push_back(info.id);
      if (!split(groups, info.id)) return;
    }
    for (const auto& group : groups)
      if (group.size() != groups.front().size()) return;
    for (const core::TensorId parameter : parameters) m_graph.tensor(parameter).replicated = true;
    if (groups.size() > 1) m_groups = std::move(groups);
  }

  /// False: it is not known of all, or there are no replicas.
  bool split(Groups& groups, core::TensorId parameter) {
    Groups all;
    for (const auto& group : groups) {
      std::vector<std::pair<core::Hash128, std::vector<core::Rank>>> parts;
      for (const core::Rank rank : group) {
        const StatisticsRow* row = m_source.statistics(rank, core::Iteration(0), parameter);
        if (!row) return false;
        const core::Hash128 hash = row->values.hash;
        auto part = std::ranges::find(parts, hash, [](const auto& each) { return each.first; });
        if (part == parts.end()) part = parts.insert(part, {hash, {}});
        part->second.push_back(rank);
      }
      for (auto& [hash, ranks] : parts) all.push_back(std::move(ranks));
    }
    groups = std::move(all);
    return std::ranges::any_of(groups, [](const auto& group) { return group.size() > 1; });
  }

  Source& m_source;
  core::Graph m_graph;
  Groups m_groups;
  mutable std::map<const core::GraphPart*, core::GraphPart> m_parts;  // theirs -> ours; walked by nobody
};

TranslatedSource::TranslatedSource(Source& source)
    : m_foreign(hasForeignNodes(source.graph()) ? std::make_unique<Foreign>(source) : nullptr),
      m_read(m_foreign ? static_cast<Source*>(m_foreign.get()) : &source) {}

TranslatedSource::~TranslatedSource() = default;

}  // namespace msdbg::watch
