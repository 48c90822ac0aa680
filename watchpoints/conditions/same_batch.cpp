// Ranks that read the same batch train one model on the data of one; so does a loader that gives one batch
// for ever. A batch that comes twice within an epoch is a loader that was not seeded by rank, or that began
// anew where it should have gone on. Seen in the recorded hashes of what enters the graph.
#include <algorithm>
#include <cmath>
#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/wording.h"

namespace msdbg::watch {
namespace {

using core::Rank;
using core::TensorId;

using Hashes = std::vector<core::Hash128>;  // of each input of the graph

/// In which order the batches of one rank came.
class BatchOrder {
 public:
  struct Repeat {
    core::Iteration first, again;
    Rank rank;
    std::int64_t count = 0;  // batches that came again
  };

  void add(core::Iteration iteration, Rank rank, const Hashes& batch) {
    std::vector<std::uint64_t> key;
    for (const core::Hash128& hash : batch) key.insert(key.end(), {hash.high, hash.low});
    const auto [known, isNew] =
        m_numbers.try_emplace(std::move(key), static_cast<std::int64_t>(m_numbers.size()));
    if (isNew) m_begin.push_back(iteration);
    m_order.push_back(known->second);
    if (isNew) return;
    if (m_repeat.count++ == 0)
      m_repeat = {m_begin[static_cast<std::size_t>(known->second)], iteration, rank, 1};
  }

  /// nullopt: no batch came twice, or all of them did as epochs bring them, in the same or another order; or
  /// most batches are old ones, as where one is trained on several times on purpose.
  std::optional<Repeat> repeated() const {
    const auto distinct = static_cast<std::int64_t>(m_numbers.size());
    const auto all = static_cast<std::int64_t>(m_order.size());
    if (m_repeat.count == 0 || 2 * distinct < all || isEpochs()) return std::nullopt;
    return m_repeat;
  }

  /// How many batches an epoch has, where all epochs, two whole ones at least, came in one order; else 0.
  std::int64_t fixedEpoch() const {
    const std::size_t length = m_numbers.size();
    if (length < kFewBatches || m_order.size() < 2 * length) return 0;
    for (std::size_t i = 0; i < m_order.size(); ++i)
      if (m_order[i] != static_cast<std::int64_t>(i % length)) return 0;
    return static_cast<std::int64_t>(length);
  }

 private:
  static constexpr std::size_t kFewBatches = 8;  // fewer are written down one by one

  /// Cut into pieces of as many as there are distinct ones, none comes twice in a piece.
  bool isEpochs() const {
    const std::size_t length = m_numbers.size();
    std::vector<std::size_t> epoch(length, m_order.size());  // in which each came last
    for (std::size_t i = 0; i < m_order.size(); ++i) {
      std::size_t& last = epoch[static_cast<std::size_t>(m_order[i])];
      if (last == i / length) return false;
      last = i / length;
    }
    return true;
  }

  std::map<std::vector<std::uint64_t>, std::int64_t> m_numbers;  // of distinct batches, as they came
  std::vector<core::Iteration> m_begin;                          // where each came first
  std::vector<std::int64_t> m_order;
  Repeat m_repeat;
};

/// Ranks along such an axis have a part of the model each, and read the same data.
bool splitsTheModel(const std::string& axis) {
  static constexpr auto kAxes =
      std::to_array<std::string_view>({"tp", "tensor", "mp", "model", "cp", "sp", "context", "sequence", "pp",
                                       "pipe", "pipeline", "ep", "expert"});
  return std::ranges::any_of(kAxes, [&](std::string_view name) {
    return axis == name || axis.starts_with(std::string(name) + "_") ||
           axis.starts_with(std::string(name) + "-");
  });
}

class SameBatch : public Evaluator {
 public:
  explicit SameBatch(const core::Graph& graph) {
    for (const core::TensorInfo& info : graph.tensors())
      if ((info.role == core::TensorRole::kInput || info.role == core::TensorRole::kLabel) && !info.trainable)
        m_inputs.push_back(info.id);
    if (m_inputs.empty()) m_inputs = madeInTheLoop(graph), m_made = true;
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
    if (std::ranges::none_of(context.source.meshAxes(), splitsTheModel)) compareRanks(context, batches);
    const auto& [rank, batch] = *batches.begin();
    if (!m_made)
      for (const TensorId input : m_inputs) m_constant[input].add(context.rows.now(rank, input));
    m_order.add(context.iteration, rank, batch);
    m_varies += m_batch.empty() || m_batch == batch ? 0 : 1;
    m_repeats = m_repeats && (m_batch.empty() || m_batch == batch);
    m_batch = batch;
    m_rank = rank;
  }

  void finish(EvaluationContext& context) override {
    std::vector<std::int64_t> same;
    for (const auto& [rank, times] : m_same)
      if (times == m_iterations && m_iterations > 1) same.push_back(rank.value);
    const bool ofTorch = isOfTorch(context.graph());
    if (const std::int64_t epoch = m_order.fixedEpoch(); epoch > 0 && ofTorch) addOrder(context, epoch);
    if (m_made) {  // what is the same in all iterations are constants
      if (!same.empty() && m_iterations >= kFew && m_varies == m_iterations - 1) addSameRanks(context, same);
      return;
    }
    if (!same.empty()) addSameRanks(context, same);
    if (!m_repeats) addSameNumbers(context);
    // Small data are trained on whole in many a PyTorch script: nothing is said of that.
    if (m_repeats && m_iterations >= kRepeats && m_same.empty() && !ofTorch) addRepeats(context);
    if (same.empty() && m_met) context.findings.push_back(std::move(*m_met));
    if (const auto again = m_order.repeated()) addAgain(context, *again);
  }

 private:
  static constexpr std::int64_t kRepeats = 10, kFew = 5;  // iterations
  static constexpr std::int64_t kMuch = 32;               // elements of data that are made

  /// Of a program that loads nothing: what comes from elsewhere into its forward pass, and what that makes of
  /// no parameter. Not what came through a collective, as the parameters of FSDP do: it is the same on all
  /// ranks.
  static std::vector<TensorId> madeInTheLoop(const core::Graph& graph) {
    std::vector<bool> other = learntTensors(graph);
    for (const core::Node& node : graph.nodes())
      if (isCollective(node) ||
          std::ranges::any_of(node.inputs, [&](TensorId input) { return other[input.index()]; }))
        for (const TensorId output : node.outputs) other[output.index()] = true;
    return selectTensors(graph, [&](const core::TensorInfo& info) {
      if (info.isSource()) return info.role == core::TensorRole::kConstant;
      return !other[info.id.index()] && !info.updateOf.valid() &&
             graph.node(info.producer).phase == core::Phase::kForward;
    });
  }

  std::optional<Hashes> batchOf(EvaluationContext& context, Rank rank) {
    Hashes hashes;
    for (const TensorId input : m_inputs) {
      const StatisticsRow* row = context.rows.now(rank, input);
      if (row && (!m_made || row->values.count >= kMuch)) {
        if (!m_shown.valid()) m_shown = input;
        hashes.push_back(row->values.hash);
      }
      if (!row && !m_made && context.rows.missingReason(rank, input) != "absent") return std::nullopt;
    }
    return hashes.empty() ? std::nullopt : std::optional(std::move(hashes));
  }

  /// Each rank against the first.
  void compareRanks(EvaluationContext& context, const std::map<Rank, Hashes>& batches) {
    m_first = batches.begin()->first;
    for (const auto& [rank, batch] : batches)
      if (rank != m_first && batch == batches.begin()->second) {
        ++m_same[rank];
        if (!m_met) meet(context, rank);
      }
  }

  /// Two ranks have one batch, in this iteration.
  void meet(EvaluationContext& context, Rank rank) {
    m_met = findingAt(context, {context.iteration, rank, m_inputs.front()}, precedence::kOther);
    m_met->severity = Severity::kHint;
    m_met->detail = "rank " + std::to_string(rank.value) + " reads the batch that rank " +
                    std::to_string(m_first.value) + " reads in this iteration: is the data cut by rank?";
  }

  void addAgain(EvaluationContext& context, const BatchOrder::Repeat& repeat) const {
    Finding finding = findingAt(context, {repeat.again, repeat.rank, m_inputs.front()}, precedence::kOther);
    finding.severity = Severity::kHint;
    finding.count = repeat.count;
    finding.detail =
        "the batch of iteration " + std::to_string(repeat.first.value) + " comes again, bit for bit";
    if (repeat.count > 1)
      finding.detail +=
          ", as " + std::to_string(repeat.count - 1) + " more batches do within what cannot be epochs";
    finding.detail += ": a loader that began anew, as after a resume, or data that hold something twice";
    finding.advice = "Save where the loader is with the checkpoint, and go on from there.";
    context.findings.push_back(std::move(finding));
  }

  void addOrder(EvaluationContext& context, std::int64_t epoch) const {
    Finding finding = findingAt(context, {m_begin, m_rank, m_shown}, precedence::kOther);
    finding.severity = Severity::kHint;
    finding.detail = "its " + std::to_string(epoch) +
                     " batches come in the same order in every epoch: nothing shuffles the data";
    finding.advice =
        "DataLoader(shuffle=True), or sampler.set_epoch(epoch) at the beginning of each epoch for a "
        "DistributedSampler; right if the order is meant to be the same.";
    context.findings.push_back(std::move(finding));
  }

  /// Of one input: the same bits in every iteration, and as spread as numbers that are drawn.
  struct Constant {
    core::Hash128 hash;
    std::int64_t iterations = 0;
    bool same = true, drawn = true;

    void add(const StatisticsRow* row) {
      constexpr double kFar = 1.5, kNearZero = 0.3;  // no sines, masks or weights lie so
      constexpr std::int64_t kNumbers = 32;
      if (!row) return;
      const core::TensorStatistics& values = row->values;
      same = same && (iterations == 0 || values.hash == hash);
      drawn = drawn && values.count >= kNumbers && values.nonFinite() == 0 && values.min < -kFar &&
              values.max > kFar && std::abs(values.mean) < kNearZero;
      hash = values.hash;
      ++iterations;
    }
  };

  /// A hint: noise that a generator draws which begins anew for each batch.
  void addSameNumbers(EvaluationContext& context) const {
    for (const TensorId input : m_inputs) {
      const Constant& constant = m_constant.at(input);
      const core::TensorInfo& info = context.graph().tensor(input);
      if (!constant.same || !constant.drawn || constant.iterations < kRepeats || !isFloating(info.dtype))
        continue;
      Finding finding = findingAt(context, {m_begin, m_rank, input}, precedence::kOther);
      finding.severity = Severity::kHint;
      finding.detail = info.name + " has the same bits in all " + std::to_string(constant.iterations) +
                       " iterations, while the rest of the batch changes: if its numbers are drawn, they are "
                       "drawn once and for all";
      finding.advice = "Make the generator once, before the loop: a seed in the loop begins it anew.";
      return context.findings.push_back(std::move(finding));
    }
  }

  void addSameRanks(EvaluationContext& context, const std::vector<std::int64_t>& same) const {
    Finding finding = findingAt(context, {m_begin, Rank(same.front()), m_shown}, precedence::kStructure);
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
    finding.advice = "Take the next batch of the loader in each iteration: next(iter(loader)) begins anew.";
    context.findings.push_back(std::move(finding));
  }

  std::vector<TensorId> m_inputs;
  core::Iteration m_begin;
  std::int64_t m_iterations = 0;
  Rank m_first, m_rank;
  std::map<Rank, std::int64_t> m_same;  // in how many iterations it read the first rank's batch
  Hashes m_batch;                       // the last one
  bool m_repeats = true;
  std::map<TensorId, Constant> m_constant;  // of the first rank
  TensorId m_shown;                         // the first of them that has values
  bool m_made = false;                      // the inputs are what the program makes in the loop
  std::int64_t m_varies = 0;                // iterations whose data were others than those before
  BatchOrder m_order;                       // of the first rank
  std::optional<Finding> m_met;             // the first iteration in which two ranks have one batch
};

}  // namespace

ConditionDef sameBatchCondition() {
  ConditionDef def;
  def.id = "same_batch";
  def.title = "The same batch again";
  def.doc =
      "Everything that enters the graph, or that a program makes in the loop without its parameters, has the "
      "same bits on several ranks in every recorded iteration (two "
      "at least). A hint where it is the same in every iteration (ten at least), as when one batch is "
      "trained on for a test; where two ranks meet in some iterations; and where a batch comes again within "
      "what cannot be epochs: most batches come once, and cut into pieces of as many as there are, one comes "
      "twice; where all epochs of a PyTorch program, of 8 batches or more, come in the same order; and where "
      "one input of the batch, spread as drawn numbers are, is the same in every iteration.";
  def.advice = "Give each rank its share: run.shard(loader), or a loader seeded and cut by rank.";
  def.needsAllRanks = true;
  def.rowsOnly = true;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<SameBatch>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string {
    return "needs the batches of all ranks in one place";
  };
  return def;
}

}  // namespace msdbg::watch
