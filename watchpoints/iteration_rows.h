// IterationRows: the rows of the iteration that is looked at and of the one before it, of all ranks. Each is
// read from the source once, when first asked for, however many conditions ask; what nobody asks for is not
// read. Memory is that of two iterations. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "watchpoints/known_rows.h"

namespace msdbg::watch {

class IterationRows {
 public:
  explicit IterationRows(const Source& source);

  /// Goes on to an iteration of the source; rows of others than it and the one before it are forgotten.
  void moveTo(Source& source, core::Iteration iteration);
  core::Iteration iteration() const { return m_now.iteration; }
  /// nullptr: not recorded or lost to damage. Valid until the next moveTo().
  const StatisticsRow* now(core::Rank rank, core::TensorId tensor) { return rowOf(m_now, rank, tensor); }
  /// As Source::flags().
  const StatisticsRow* flagsNow(core::Rank rank, core::TensorId tensor) {
    return flagsOf(m_now, rank, tensor);
  }
  /// Of the iteration before by number, k - 1, recorded or not.
  const StatisticsRow* before(core::Rank rank, core::TensorId tensor) {
    return rowOf(m_before, rank, tensor);
  }
  const StatisticsRow* flagsBefore(core::Rank rank, core::TensorId tensor) {
    return flagsOf(m_before, rank, tensor);
  }
  /// Whether the rank has none of this iteration, which was thinned, nor of the one before.
  bool thinned(core::Rank rank) const;
  /// Whether no rank has any of this iteration or of the one before, as the source knows without reading.
  bool none() const { return m_now.none && m_before.none; }
  /// As the source has it; read once, however many conditions ask.
  std::optional<double> scalar(core::Rank rank, std::string_view name);
  /// Why now() gave nullptr: as Source::missingReason(); `absent`: the rank has no such tensor.
  std::string missingReason(core::Rank rank, core::TensorId tensor) const;

 private:
  enum class State : char { kUnread, kPresent, kFlags, kMissing, kThinned, kDamaged, kAbsent };
  struct Cell {
    State state = State::kUnread;
    StatisticsRow row;
  };
  struct Table {
    core::Iteration iteration;
    std::vector<std::vector<Cell>> cells;       // by slot of the rank, by tensor
    std::vector<const core::GraphPart*> parts;  // by slot
    std::vector<KnownRows::Rows> rows;          // by slot
    bool none = false;                          // no slot can have any
    std::vector<bool> read;                     // by slot: some cells are not kUnread
  };
  struct Scalar {
    std::string name;
    core::Iteration iteration;                                 // of what is known
    std::vector<std::optional<std::optional<double>>> values;  // by slot; nullopt: not asked for yet
  };
  std::size_t slotOf(core::Rank rank) const;  // m_ranks.size(): none
  const Cell* cellOf(Table& table, core::Rank rank, core::TensorId tensor);
  const StatisticsRow* rowOf(Table& table, core::Rank rank, core::TensorId tensor);
  const StatisticsRow* flagsOf(Table& table, core::Rank rank, core::TensorId tensor);
  void read(const Table& table, std::size_t slot, core::TensorId tensor, Cell& cell);
  void begin(Table& table, core::Iteration iteration);

  Source* m_source = nullptr;
  std::vector<core::Rank> m_ranks;  // ascending
  Table m_now, m_before;
  std::vector<Scalar> m_scalars;  // few names
};

}  // namespace msdbg::watch
