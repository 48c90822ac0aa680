#include "dump/policy/expected_size.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "dump/policy/checkpoints.h"
#include "dump/policy/decisions.h"
#include "dump/statistics_columns.h"

namespace msdbg::dump {
namespace {

using core::Iteration;

using Applies = std::vector<bool>;  // by rule

// Iterations in which the same rules apply take the same bytes: one of them, and how many there are.
struct Alike {
  Iteration example;
  std::int64_t count = 0;
};
using AlikeIterations = std::map<Applies, Alike>;

// Where the answer of a list changes.
void addBorders(std::set<std::int64_t>& borders, const core::IndexList& list) {
  for (const auto& range : list.ranges()) {
    borders.insert(range.first);
    if (range.last != core::IndexList::kOpen) borders.insert(range.last + 1);
  }
}

// After so many iterations all `every` begin again; at most `limit`.
std::int64_t periodOf(const RecordOptions& options, std::span<const Rule> rules, std::int64_t limit) {
  std::int64_t period = options.every;
  for (const Rule& rule : rules) {
    const std::int64_t factor = rule.every / std::gcd(period, rule.every);
    if (period > limit / factor) return limit;
    period *= factor;
  }
  return std::min(period, limit);
}

// Not one by one: a run may be planned for a billion steps.
AlikeIterations alikeIterations(const RecordOptions& options, std::span<const Rule> rules, std::int64_t first,
                                std::int64_t steps) {
  const std::int64_t end = first + steps;
  std::set<std::int64_t> borders = {first, end};
  addBorders(borders, options.iterations);
  for (const Rule& rule : rules) addBorders(borders, rule.iterations);
  const std::int64_t period = periodOf(options, rules, steps);
  AlikeIterations alike;
  Applies applies(rules.size());
  for (auto border = borders.find(first); *border < end; ++border) {
    const std::int64_t last = std::min(*std::next(border), end);
    for (std::int64_t i = *border; i < std::min(*border + period, last); ++i) {
      if (!options.records(Iteration(i))) continue;
      for (std::size_t r = 0; r < rules.size(); ++r) applies[r] = rules[r].appliesIn(Iteration(i));
      Alike& group = alike.try_emplace(applies, Alike{Iteration(i)}).first->second;
      group.count += (last - i + period - 1) / period;
    }
  }
  return alike;
}

// Ranks for which the same rules are meant record the same.
std::map<Applies, std::vector<core::Rank>> alikeRanks(std::span<const Rule> rules, int ranks) {
  std::map<Applies, std::vector<core::Rank>> alike;
  Applies applies(rules.size());
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::size_t r = 0; r < rules.size(); ++r) applies[r] = rules[r].ranks.contains(rank);
    alike[applies].emplace_back(rank);
  }
  return alike;
}

std::uint64_t bytesOf(const core::TensorInfo& tensor) {
  if (!tensor.shape.known()) return 0;
  return static_cast<std::uint64_t>(tensor.shape.elements()) * core::dtypeSize(tensor.dtype);
}

std::string nameOf(const core::TensorInfo& tensor) {
  if (!tensor.alias.empty()) return tensor.alias;
  return tensor.slot == 0 ? tensor.name : tensor.fullName();
}

// What a tensor takes in each iteration, whatever is kept of it in this one.
std::uint64_t rowBytes(Policy most) {
  if (most == Policy::kNone) return 0;
  return most == Policy::kRecord ? sizeof(core::Hash128) : statisticsRowBytes();
}

// Adds up what the rules take, iteration by iteration (of each kind one).
class Sum {
 public:
  Sum(const core::Graph& graph, std::span<const std::uint64_t> measured, ExpectedSize& size)
      : m_graph(graph),
        m_measured(measured),
        m_size(size),
        m_decides(size.parts.size()),
        m_full(graph.tensors().size()) {
    for (auto& tensors : m_decides) tensors.resize(graph.tensors().size());
  }

  /// All ranks that decide so, in this iteration and in those like it.
  void add(const Decisions& decisions, std::size_t ranks, const Alike& alike) {
    for (const core::TensorInfo& tensor : m_graph.tensors()) {
      const std::size_t rule = decisions.ruleOf(tensor.id, alike.example);
      ExpectedSize::Part& part = m_size.parts[rule];
      const bool full = part.rule.policy == Policy::kFull;
      const std::uint64_t values = full ? valueBytes(tensor) * ranks : 0;
      const std::uint64_t statistics = rowBytes(decisions.most(tensor.id)) * ranks;
      const auto times = static_cast<std::uint64_t>(alike.count);
      part.valueBytes += values * times;
      part.statisticsBytes += statistics * times;
      m_now[rule] += values + statistics;
      m_decides[rule][tensor.id.index()] = true;
      if (full) m_full[tensor.id.index()] = true;
    }
  }

  /// The iteration is complete: all ranks were added.
  void next(const Alike& alike) {
    std::uint64_t all = 0;
    for (const auto& [rule, bytes] : m_now) {
      ExpectedSize::Part& part = m_size.parts[rule];
      part.iterations += alike.count;
      part.iterationBytes = std::max(part.iterationBytes, bytes);
      all += bytes;
    }
    m_size.iterations += alike.count;
    m_size.iterationBytes = std::max(m_size.iterationBytes, all);
    m_now.clear();
  }

  void finish() {
    for (std::size_t r = 0; r < m_size.parts.size(); ++r) {
      for (const core::TensorInfo& tensor : m_graph.tensors())
        if (m_decides[r][tensor.id.index()]) m_size.parts[r].names.push_back(nameOf(tensor));
      m_size.parts[r].tensors = std::ssize(m_size.parts[r].names);
      m_size.valueBytes += m_size.parts[r].valueBytes;
      m_size.statisticsBytes += m_size.parts[r].statisticsBytes;
    }
    m_size.fullTensors = std::ranges::count(m_full, true);
  }

 private:
  std::uint64_t valueBytes(const core::TensorInfo& tensor) const {
    return m_measured.empty() ? bytesOf(tensor) : m_measured[tensor.id.index()];
  }

  const core::Graph& m_graph;
  const std::span<const std::uint64_t> m_measured;
  ExpectedSize& m_size;
  std::vector<std::vector<bool>> m_decides;    // by rule and tensor
  std::vector<bool> m_full;                    // by tensor
  std::map<std::size_t, std::uint64_t> m_now;  // bytes of the iteration by rule
};

std::uint64_t batchBytes(const core::TensorInfo& input, const core::Batch* example) {
  if (example)
    for (const auto& [name, source] : example->sources)
      if (input.name == name || input.name.ends_with("/" + name)) return source.values.bytes();
  return bytesOf(input);
}

void addForReplay(const core::Graph& graph, const RecordOptions& options, int ranks, std::int64_t first,
                  std::int64_t steps, const core::Batch* example, ExpectedSize& size) {
  const auto all = static_cast<std::uint64_t>(ranks);
  size.checkpointEvery = checkpointInterval(options, graph, ranks);
  size.checkpoints = countCheckpoints(options, size.checkpointEvery, steps, first);
  if (size.checkpointEvery > 0) size.checkpointBytes = checkpointBytes(graph) * all;
  if (!keepsBatches(options, graph, ranks)) return;
  for (const core::TensorInfo& tensor : graph.tensors())
    if (inBatch(tensor)) size.batchIterationBytes += batchBytes(tensor, example) * all;
  size.iterationBytes += size.batchIterationBytes;
}

}  // namespace

ExpectedThinning expectedThinning(const ExpectedSize& size, const RecordOptions& options, int ranks) {
  ExpectedThinning thinning;
  const auto all = static_cast<std::uint64_t>(ranks),
             iterations = static_cast<std::uint64_t>(size.iterations);
  thinning.alwaysBytes = iterations * size.alwaysBytes;
  const std::uint64_t share = options.maxBytes / all;
  const std::uint64_t forValues = options.keepsValues() || size.checkpoints > 0 ? share / 4 : 0;
  const std::uint64_t others =
      forValues + thinning.alwaysBytes + kFilesWithRows * size.fileBytes + size.graphBytes / all;
  const std::uint64_t room = share - std::min(share, others);
  const std::uint64_t rows = size.statisticsBytes / all;
  thinning.rowBytes = rows;
  if (iterations == 0 || rows <= room) return thinning;
  const std::uint64_t rowBytes = std::max<std::uint64_t>(1, rows / iterations);
  thinning.rowBytes = 0;
  std::uint64_t left = iterations, part = room / 2;
  for (std::int64_t step = 1; left > 0; step *= 10, part /= 2) {
    const auto each = static_cast<std::uint64_t>(step);
    const std::uint64_t covers = std::min(left, std::max<std::uint64_t>(1, part / rowBytes) * each);
    thinning.parts.push_back({step, static_cast<std::int64_t>(covers)});
    thinning.rowBytes += (covers + each - 1) / each * rowBytes;
    left -= covers;
  }
  return thinning;
}

ExpectedWork expectedWork(const RecordOptions& options, int ranks, double stepSeconds) {
  // A segment: its file, its folder, the journal's line. Eight of them become one, eight of those one again.
  constexpr double kFsyncs = 3, kMerged = 8.0 / 7;
  const double files = ranks / std::max(options.commitSeconds, stepSeconds) * kMerged;
  return {files, kFsyncs * files};
}

core::Result<ExpectedSize> expectedSize(const core::Graph& graph, const RecordOptions& options, int ranks,
                                        std::int64_t steps, const KnownBytes& known, std::int64_t first) {
  ExpectedSize size;
  const std::vector<Rule> rules = options.allRules();
  for (const Rule& rule : rules) size.parts.push_back({.rule = rule});
  size.tensors = static_cast<std::int64_t>(graph.tensors().size());
  std::vector<std::pair<Decisions, std::size_t>> decisions;  // and on how many ranks
  for (const auto& [applies, alike] : alikeRanks(rules, ranks)) {
    MSDBG_ASSIGN(Decisions here, Decisions::make(graph, options, alike.front()));
    decisions.emplace_back(std::move(here), alike.size());
  }
  Sum sum(graph, known.values, size);
  for (const auto& [applies, alike] : alikeIterations(options, rules, first, steps)) {
    for (const auto& [here, count] : decisions) sum.add(here, count, alike);
    sum.next(alike);
  }
  sum.finish();
  addForReplay(graph, options, ranks, first, steps, known.batch, size);
  return size;
}

}  // namespace msdbg::dump
