#include "tests/watchpoints/fake_source.h"

#include "watchpoints/activation_preset.h"

namespace msdbg::test {

using namespace msdbg::core;

FakeSource::FakeSource(Graph graph, int ranks, int iterations)
    : m_graphs(std::move(graph)), m_ranks(static_cast<std::size_t>(ranks)), m_rankCount(ranks) {
  for (auto& rank : m_ranks) rank.resize(static_cast<std::size_t>(iterations));
}

const GraphPart& FakeSource::setGraph(Rank rank, Iteration from, const Graph& graph) {
  return *(m_parts[rank][from] = &m_graphs.add(graph));
}

const GraphPart* FakeSource::part(Rank rank, Iteration iteration) const {
  const auto here = m_parts.find(rank);
  if (m_parts.empty()) return nullptr;
  if (here == m_parts.end()) return &m_graphs.part(0);
  const auto next = here->second.upper_bound(iteration);
  return next == here->second.begin() ? &m_graphs.part(0) : std::prev(next)->second;
}

FakeSource::Cell& FakeSource::at(Rank rank, Iteration iteration, TensorId tensor) {
  auto& iterations = m_ranks.at(rank.index());
  if (iteration.index() >= iterations.size()) iterations.resize(iteration.index() + 1);
  Cells& cells = iterations[iteration.index()];
  cells.resize(graph().tensors().size());
  return cells.at(tensor.index());
}

const FakeSource::Cell* FakeSource::find(Rank rank, Iteration iteration, TensorId tensor) const {
  if (rank.index() >= m_ranks.size() || iteration.index() >= m_ranks[rank.index()].size()) return nullptr;
  const Cells& cells = m_ranks[rank.index()][iteration.index()];
  return tensor.index() < cells.size() ? &cells[tensor.index()] : nullptr;
}

void FakeSource::record(Rank rank, Iteration iteration, TensorId tensor, const Tensor& value,
                        const Tensor* previous) {
  watch::StatisticsRow row;
  row.values = computeStatistics(value);
  if (previous) row.change = computeChange(value, *previous);
  const TensorInfo& info = graph().tensor(tensor);
  const auto preset =
      info.isSource() ? std::nullopt : watch::activationPreset(graph().node(info.producer).opType);
  if (preset) row.activation = computeActivation(value, preset->start, preset->end);
  at(rank, iteration, tensor) = {row, value.clone()};
}

watch::StatisticsRow& FakeSource::row(int rank, int iteration, TensorId tensor) {
  Cell& cell = at(Rank(rank), Iteration(iteration), tensor);
  if (!cell.row) cell.row.emplace();
  return *cell.row;
}

void FakeSource::loseRow(int rank, int iteration, TensorId tensor) {
  at(Rank(rank), Iteration(iteration), tensor) = {};
}

void FakeSource::loseIteration(int rank, int iteration) {
  m_ranks.at(static_cast<std::size_t>(rank)).at(static_cast<std::size_t>(iteration)).clear();
}

void FakeSource::loseValues() {
  for (auto& rank : m_ranks)
    for (Cells& cells : rank)
      for (Cell& cell : cells) cell.value.reset();
}

void FakeSource::thin(int rank, int iteration, double loss) {
  for (const TensorInfo& tensor : graph().tensors()) loseRow(rank, iteration, tensor.id);
  m_thinned[{Rank(rank), Iteration(iteration)}] = loss;
}

std::optional<double> FakeSource::scalar(Rank rank, Iteration iteration, const std::string& name) {
  if (const auto given = m_scalars.find({rank, iteration, name}); given != m_scalars.end())
    return given->second;
  const auto found = m_thinned.find({rank, iteration});
  return found != m_thinned.end() && name == "loss" ? std::optional(found->second) : std::nullopt;
}

void FakeSource::setScalar(int rank, int iteration, const std::string& name, double value) {
  m_scalars[{Rank(rank), Iteration(iteration), name}] = value;
}

std::vector<Rank> FakeSource::ranks() const {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < m_ranks.size(); ++i) ranks.emplace_back(static_cast<std::int64_t>(i));
  return ranks;
}

std::vector<Iteration> FakeSource::iterations(Rank rank) const {
  std::vector<Iteration> iterations;
  const auto& all = m_ranks.at(rank.index());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].empty()) iterations.emplace_back(static_cast<std::int64_t>(i));
  return iterations;
}

const watch::StatisticsRow* FakeSource::statistics(Rank rank, Iteration iteration, TensorId tensor) {
  m_missingReason = m_thinned.contains({rank, iteration}) ? "thinned" : "no_value";
  const Cell* cell = find(rank, iteration, tensor);
  return cell && cell->row ? &*cell->row : nullptr;
}

Result<Tensor> FakeSource::value(Rank rank, Iteration iteration, TensorId tensor) {
  if (!stored(rank, iteration, tensor))
    return Error(ErrorCode::kUnavailable, graph().tensor(tensor).fullName() + " is not stored");
  return *find(rank, iteration, tensor)->value;
}

bool FakeSource::stored(Rank rank, Iteration iteration, TensorId tensor) const {
  const Cell* cell = find(rank, iteration, tensor);
  return cell && cell->value;
}

}  // namespace msdbg::test
