#include "watchpoints/meaning/translated_source.h"

#include <map>

#include "core_engine/graph/graph_union.h"
#include "watchpoints/meaning/meaning.h"
#include "watchpoints/meaning/wording.h"

namespace msdbg::watch {

class TranslatedSource::Foreign : public Source {
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
  /// No plan says whether parameters are replicas: they are where all of them begin with the same bits on all
  /// ranks. Of shards some differ, though those of a constant (a norm's ones) do not.
  void markReplicas() {
    const std::vector<core::Rank> ranks = m_source.ranks();
    if (ranks.size() < 2) return;
    std::vector<core::TensorId> alike;
    for (const core::TensorInfo& info : m_source.graph().tensors()) {
      if (info.role != core::TensorRole::kParameter || !info.trainable) continue;
      if (!beginsAlike(ranks, info.id)) return;
      alike.push_back(info.id);
    }
    for (const core::TensorId parameter : alike) m_graph.tensor(parameter).replicated = true;
  }

  bool beginsAlike(const std::vector<core::Rank>& ranks, core::TensorId parameter) {
    std::optional<core::Hash128> first;
    for (const core::Rank rank : ranks) {
      const StatisticsRow* row = m_source.statistics(rank, core::Iteration(0), parameter);
      if (!row || (first && row->values.hash != *first)) return false;
      first = row->values.hash;
    }
    return true;
  }

  Source& m_source;
  core::Graph m_graph;
  mutable std::map<const core::GraphPart*, core::GraphPart> m_parts;  // theirs -> ours; walked by nobody
};

TranslatedSource::TranslatedSource(Source& source)
    : m_foreign(hasForeignNodes(source.graph()) ? std::make_unique<Foreign>(source) : nullptr),
      m_read(m_foreign ? static_cast<Source*>(m_foreign.get()) : &source) {}

TranslatedSource::~TranslatedSource() = default;

}  // namespace msdbg::watch
