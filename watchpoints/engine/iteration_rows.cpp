#include "watchpoints/iteration_rows.h"

#include <algorithm>
#include <utility>

#include "core_engine/graph/graph_union.h"

namespace msdbg::watch {

using core::Iteration;
using core::Rank;
using core::TensorId;
using Rows = KnownRows::Rows;

IterationRows::IterationRows(const Source& source) : m_ranks(source.ranks()) {
  std::ranges::sort(m_ranks);
  for (Table* table : {&m_now, &m_before}) {
    table->cells.assign(m_ranks.size(), std::vector<Cell>(source.graph().tensors().size()));
    table->rows.assign(m_ranks.size(), Rows::kNotRecorded);
    table->read.assign(m_ranks.size(), false);
  }
}

void IterationRows::moveTo(Source& source, Iteration iteration) {
  m_source = &source;
  if (iteration == m_now.iteration) return;
  std::swap(m_now, m_before);
  if (m_before.iteration.value != iteration.value - 1) begin(m_before, Iteration(iteration.value - 1));
  begin(m_now, iteration);
}

void IterationRows::begin(Table& table, Iteration iteration) {
  table.iteration = iteration;
  table.parts.clear();
  table.none = true;
  for (std::size_t slot = 0; slot < m_ranks.size(); ++slot) {
    table.parts.push_back(m_source->part(m_ranks[slot], iteration));
    table.rows[slot] = rowsOf(*m_source, m_ranks[slot], iteration);
    table.none = table.none && table.rows[slot] != Rows::kPossible;
    if (!table.read[slot]) continue;
    for (Cell& cell : table.cells[slot]) cell.state = State::kUnread;
    table.read[slot] = false;
  }
}

std::size_t IterationRows::slotOf(Rank rank) const {
  // Ranks are mostly numbered without a gap.
  if (const auto at = static_cast<std::size_t>(rank.value); at < m_ranks.size() && m_ranks[at] == rank)
    return at;
  const auto found = std::ranges::lower_bound(m_ranks, rank);
  return static_cast<std::size_t>((found != m_ranks.end() && *found == rank ? found : m_ranks.end()) -
                                  m_ranks.begin());
}

const StatisticsRow* IterationRows::rowOf(Table& table, Rank rank, TensorId tensor) {
  const Cell* cell = cellOf(table, rank, tensor);
  return cell && cell->state == State::kPresent ? &cell->row : nullptr;
}

const StatisticsRow* IterationRows::flagsOf(Table& table, Rank rank, TensorId tensor) {
  const Cell* cell = cellOf(table, rank, tensor);
  return cell && (cell->state == State::kPresent || cell->state == State::kFlags) ? &cell->row : nullptr;
}

const IterationRows::Cell* IterationRows::cellOf(Table& table, Rank rank, TensorId tensor) {
  const std::size_t slot = slotOf(rank);
  if (slot == m_ranks.size() || !table.iteration.valid() || !tensor.valid()) return nullptr;
  if (table.rows[slot] != Rows::kPossible) return nullptr;
  Cell& cell = table.cells[slot][tensor.index()];
  if (cell.state == State::kUnread) {
    read(table, slot, tensor, cell);
    table.read[slot] = true;
  }
  return &cell;
}

void IterationRows::read(const Table& table, std::size_t slot, TensorId tensor, Cell& cell) {
  const core::GraphPart* part = table.parts[slot];
  if (part && !part->has(tensor)) {
    cell.state = State::kAbsent;
  } else if (const StatisticsRow* row = m_source->statistics(m_ranks[slot], table.iteration, tensor)) {
    cell.row = *row;
    cell.state = State::kPresent;
  } else {
    const std::string reason = m_source->missingReason();
    const StatisticsRow* flags =
        reason == "only_flags" ? m_source->flags(m_ranks[slot], table.iteration, tensor) : nullptr;
    if (flags) cell.row = *flags;
    cell.state = flags                 ? State::kFlags
                 : reason == "damaged" ? State::kDamaged
                 : reason == "thinned" ? State::kThinned
                                       : State::kMissing;
  }
}

bool IterationRows::thinned(Rank rank) const {
  const std::size_t slot = slotOf(rank);
  return slot < m_ranks.size() && m_now.rows[slot] == Rows::kThinned &&
         m_before.rows[slot] != Rows::kPossible;
}

std::string IterationRows::missingReason(Rank rank, TensorId tensor) const {
  const std::size_t slot = slotOf(rank);
  if (slot == m_ranks.size() || m_now.rows[slot] == Rows::kNotRecorded) return "no_value";
  if (m_now.rows[slot] == Rows::kThinned)
    return m_now.parts[slot] && !m_now.parts[slot]->has(tensor) ? "absent" : "thinned";
  const State state = m_now.cells[slot][tensor.index()].state;
  return state == State::kDamaged   ? "damaged"
         : state == State::kFlags   ? "only_flags"
         : state == State::kThinned ? "thinned"
         : state == State::kAbsent  ? "absent"
                                    : "no_value";
}

std::optional<double> IterationRows::scalar(Rank rank, std::string_view name) {
  const std::size_t slot = slotOf(rank);
  if (slot == m_ranks.size()) return std::nullopt;
  auto known = std::ranges::find(m_scalars, name, &Scalar::name);
  if (known == m_scalars.end()) known = m_scalars.insert(known, Scalar{std::string(name), {}, {}});
  if (known->iteration != m_now.iteration) {
    known->iteration = m_now.iteration;
    known->values.assign(m_ranks.size(), std::nullopt);
  }
  auto& value = known->values[slot];
  if (!value) value = m_source->scalar(rank, m_now.iteration, known->name);
  return *value;
}

}  // namespace msdbg::watch
