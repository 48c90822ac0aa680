#include "tests/replay/fake_run.h"

#include <utility>

namespace msdbg::test {

using namespace msdbg::core;

FakeRun::FakeRun(Graph graph, int ranks, int iterations) : rows(std::move(graph), ranks, iterations) {
  told.ranks = ranks;
}

void FakeRun::will(std::function<void(FakeRun&)> change) {
  const std::lock_guard lock(m_mutex);
  m_changes.push_back(std::move(change));
}

Result<replay::RunGrowth> FakeRun::refresh() {
  std::vector<std::function<void(FakeRun&)>> changes;
  {
    const std::lock_guard lock(m_mutex);
    changes.swap(m_changes);
  }
  for (const auto& change : changes) change(*this);
  return replay::RunGrowth{.any = !changes.empty()};
}

std::optional<replay::RunEnd> FakeRun::rankEnd(Rank rank) const {
  const auto found = rankEnds.find(rank);
  return found == rankEnds.end() ? std::nullopt : std::optional(found->second);
}

const IterationSet& FakeRun::iterationSet(Rank rank) const {
  IterationSet& set = m_iterations[rank] = {};
  for (const Iteration iteration : rows.iterations(rank)) set.push_back(iteration.value);
  return set;
}

Error FakeRun::missingStatistics(Rank rank, Iteration iteration, TensorId tensor) {
  const bool damaged = std::ranges::any_of(lost, [&](const replay::Damage& damage) {
    return damage.rank == rank && damage.iterations.contains(iteration.value);
  });
  return {damaged ? ErrorCode::kDamaged : ErrorCode::kUnavailable,
          graph().tensor(tensor).fullName() + " has no statistics in iteration " +
              std::to_string(iteration.value) + " of rank " + std::to_string(rank.value)};
}

std::optional<replay::ValueOrigin> FakeRun::origin(Rank rank, Iteration iteration, TensorId tensor) const {
  return stored(rank, iteration, tensor) ? std::optional(replay::ValueOrigin::kTensor) : std::nullopt;
}

std::int64_t FakeRun::storedCount(Rank rank, TensorId tensor) const {
  std::int64_t count = 0;
  for (const Iteration iteration : rows.iterations(rank)) count += stored(rank, iteration, tensor) ? 1 : 0;
  return count;
}

Result<Hash128> FakeRun::hash(Rank rank, Iteration iteration, TensorId tensor) {
  const watch::StatisticsRow* row = statistics(rank, iteration, tensor);
  if (!row) return missingStatistics(rank, iteration, tensor);
  return row->values.hash;
}

std::optional<double> FakeRun::scalar(Rank rank, Iteration iteration, const std::string& name) {
  if (const auto metric = said.find(name); metric != said.end() && rank == Rank(0)) {
    const auto at = metric->second.find(iteration);
    return at == metric->second.end() ? std::nullopt : std::optional(at->second);
  }
  const auto series = scalars.find(name);
  if (series == scalars.end()) return rows.scalar(rank, iteration, name);
  const auto found = series->second.find({rank, iteration});
  return found == series->second.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> FakeRun::scalarNames() {
  std::vector<std::string> names;
  for (const auto& [name, values] : scalars) names.push_back(name);
  for (const auto& [name, values] : said) names.push_back(name);
  return names;
}

std::vector<replay::Metric> FakeRun::metrics(Rank rank) const {
  std::vector<replay::Metric> list;
  if (rank != Rank(0)) return list;
  for (const auto& [name, values] : said) list.push_back({name, {values.begin(), values.end()}});
  return list;
}

std::optional<double> FakeRun::lastScalar(Rank rank, const std::string& name) {
  std::optional<double> last;
  for (const Iteration iteration : rows.iterations(rank))
    if (const auto value = scalar(rank, iteration, name)) last = value;
  return last;
}

std::vector<std::string> FakeRun::sourceFiles() const {
  std::vector<std::string> files;
  for (const auto& [file, text] : sources) files.push_back(file);
  return files;
}

std::optional<std::string> FakeRun::sourceText(const std::string& file) const {
  const auto found = sources.find(file);
  return found == sources.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace msdbg::test
