// Ranks that read the same batch train one model on the data of one; so does a loader that gives one batch
// for ever. Seen in the recorded hashes of what enters the graph.
#include <algorithm>
#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Rank;
using core::TensorId;

using Hashes = std::vector<core::Hash128>;  // of each input of the graph

class SameBatch : public Evaluator {
 public:
  explicit SameBatch(const core::Graph& graph) {
    for (const core::TensorInfo& info : graph.tensors())
      if ((info.role == core::TensorRole::kInput || info.role == core::TensorRole::kLabel) && !info.trainable)
        m_inputs.push_back(info.id);
  }

  void evaluate(EvaluationContext& context) override {
    if (m_inputs.empty()) return;
    std::map<Rank, Hashes> batches;
    for (const Rank rank : context.ranks)
      if (const std::optional<Hashes> batch = batchOf(context, rank)) batches.emplace(rank, *batch);
    if (batches.empty()) return;
    context.evaluated += static_cast<std::int64_t>(batches.size());
    if (!m_begin.valid()) m_begin = context.iteration;
    ++m_iterations;
    compareRanks(batches);
    const auto& [rank, batch] = *batches.begin();
    m_repeats = m_repeats && (m_batch.empty() || m_batch == batch);
    m_batch = batch;
    m_rank = rank;
  }

  void finish(EvaluationContext& context) override {
    std::vector<std::int64_t> same;
    for (const auto& [rank, times] : m_same)
      if (times == m_iterations && m_iterations > 1) same.push_back(rank.value);
    if (!same.empty()) addSameRanks(context, same);
    if (m_repeats && m_iterations >= kRepeats && m_same.empty()) addRepeats(context);
  }

 private:
  static constexpr std::int64_t kRepeats = 10;

  std::optional<Hashes> batchOf(EvaluationContext& context, Rank rank) const {
    Hashes hashes;
    for (const TensorId input : m_inputs) {
      const StatisticsRow* row = context.rows.now(rank, input);
      if (!row) return std::nullopt;
      hashes.push_back(row->values.hash);
    }
    return hashes;
  }

  /// Each rank against the first.
  void compareRanks(const std::map<Rank, Hashes>& batches) {
    m_first = batches.begin()->first;
    for (const auto& [rank, batch] : batches)
      if (rank != m_first && batch == batches.begin()->second) ++m_same[rank];
  }

  void addSameRanks(EvaluationContext& context, const std::vector<std::int64_t>& same) const {
    Finding finding =
        findingAt(context, {m_begin, Rank(same.front()), m_inputs.front()}, precedence::kStructure);
    finding.count = 0;
    finding.detail = (same.size() == 1 ? "rank " : "ranks ") + core::formatRanges(same) +
                     " read the same batch as rank " + std::to_string(m_first.value) + " in every one of " +
                     std::to_string(m_iterations) +
                     " iterations: all of them learn from one rank's share of the data";
    context.findings.push_back(std::move(finding));
  }

  /// A hint, however long it lasts: how much data the loader has is not recorded.
  void addRepeats(EvaluationContext& context) const {
    Finding finding = findingAt(context, {m_begin, m_rank, m_inputs.front()}, precedence::kOther);
    finding.severity = Severity::kHint;
    finding.detail =
        "the same batch in every one of " + std::to_string(m_iterations) +
        " iterations: right if all the data are one batch, or one batch is trained on as a test; "
        "else the loader does not go on: what it gives must depend on the iteration that it is "
        "asked for";
    context.findings.push_back(std::move(finding));
  }

  std::vector<TensorId> m_inputs;
  core::Iteration m_begin;
  std::int64_t m_iterations = 0;
  Rank m_first, m_rank;
  std::map<Rank, std::int64_t> m_same;  // in how many iterations it read the first rank's batch
  Hashes m_batch;                       // the last one
  bool m_repeats = true;
};

}  // namespace

ConditionDef sameBatchCondition() {
  ConditionDef def;
  def.id = "same_batch";
  def.title = "The same batch again";
  def.doc =
      "Everything that enters the graph has the same bits on several ranks in every recorded iteration (two "
      "at least). A hint where it is the same in every iteration (ten at least), as when one batch is "
      "trained on for a "
      "test.";
  def.advice = "Give each rank its share: run.shard(loader), or a loader seeded and cut by rank.";
  def.needsAllRanks = true;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<SameBatch>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string {
    return "needs the batches of all ranks in one place";
  };
  return def;
}

}  // namespace msdbg::watch
