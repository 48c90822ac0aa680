#include "watchpoints/meaning/translated_source.h"

#include <algorithm>
#include <map>

#include "core_engine/graph/graph_union.h"
#include "watchpoints/known_rows.h"
#include "watchpoints/meaning/meaning.h"
#include "watchpoints/meaning/replicas.h"
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
  std::vector<std::string> meshAxes() const override { return m_source.meshAxes(); }
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
  core::Result<Recheck> recheck(core::Rank rank, core::Iteration iteration) override {
    return m_source.recheck(rank, iteration);  // which says why it cannot
  }
  std::vector<RunFailure> failures() const override { return m_source.failures(); }

 private:
  void markReplicas() {
    Replicas replicas = replicasOf(m_source);
    for (const core::TensorId parameter : replicas.parameters) m_graph.tensor(parameter).replicated = true;
    m_groups = std::move(replicas.groups);
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
