#include "replay/history.h"

#include <algorithm>
#include <limits>

#include "core_engine/graph/graph_union.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;
using core::TensorId;

namespace {

// Of one real number the statistics are all that there is to know.
std::optional<double> onlyElement(Run& run, Rank rank, Iteration iteration, TensorId tensor) {
  const watch::StatisticsRow* row = run.statistics(rank, iteration, tensor);
  if (!row || row->values.count != 1 || core::isComplex(run.graph().tensor(tensor).dtype))
    return std::nullopt;
  if (row->values.nan > 0) return std::numeric_limits<double>::quiet_NaN();
  if (row->values.posInf > 0) return std::numeric_limits<double>::infinity();
  if (row->values.negInf > 0) return -std::numeric_limits<double>::infinity();
  return row->values.min;
}

class Historian {
 public:
  Historian(Run& run, std::int64_t element, const std::vector<Rank>& ranks, const HistoryOptions& options)
      : m_run(run), m_element(element), m_ranks(ranks), m_options(options) {}

  Result<History> of(TensorId tensor, const core::IterationSet& iterations) {
    m_history.columns = historyColumns(m_run.graph(), tensor);
    std::int64_t done = 0;
    for (const std::int64_t each : iterations) {
      if (m_options.cancel.cancelled()) return Error(ErrorCode::kCancelled, "interrupted");
      if (m_options.progress) m_options.progress(done++, static_cast<std::int64_t>(iterations.size()));
      std::vector<HistoryRow> rows = stored(Iteration(each));
      if (!complete(rows) && m_options.computer)
        if (const Status status = compute(Iteration(each), rows); !status.ok()) {
          if (status.error().code() == ErrorCode::kCancelled) return status.error();
          giveUp(each, status.error().message());
        }
      std::ranges::move(rows, std::back_inserter(m_history.rows));
    }
    if (m_computer && std::ranges::any_of(m_history.rows, &HistoryRow::computed))
      m_history.otherHere = m_computer->otherHere();
    return std::move(m_history);
  }

 private:
  bool has(Rank rank, Iteration iteration, TensorId tensor) const {
    const core::GraphPart* part = m_run.part(rank, iteration);
    return !part || part->has(tensor);
  }

  std::vector<HistoryRow> stored(Iteration iteration) {
    std::vector<HistoryRow> rows;
    for (const Rank rank : m_ranks) {
      if (!m_run.iterationSet(rank).contains(iteration.value)) continue;
      HistoryRow row{iteration, rank, std::vector<std::optional<double>>(m_history.columns.size())};
      for (std::size_t i = 0; i < row.values.size(); ++i) {
        if (!m_run.origin(rank, iteration, m_history.columns[i])) {
          row.values[i] = onlyElement(m_run, rank, iteration, m_history.columns[i]);
          continue;
        }
        const Result<core::Tensor> value = m_run.value(rank, iteration, m_history.columns[i]);
        if (value.ok() && m_element < value->elements()) row.values[i] = value->at(m_element);
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

  bool complete(const std::vector<HistoryRow>& rows) const {
    return std::ranges::all_of(rows, [&](const HistoryRow& row) {
      for (std::size_t i = 0; i < row.values.size(); ++i)
        if (!row.values[i] && has(row.rank, row.iteration, m_history.columns[i])) return false;
      return true;
    });
  }

  Status compute(Iteration iteration, std::vector<HistoryRow>& rows) {
    if (!m_computer) {
      MSDBG_ASSIGN(m_computer, m_options.computer());
    }
    MSDBG_ASSIGN(const ComputedElements found, m_computer->compute(iteration, m_history.columns, m_element));
    for (HistoryRow& row : rows) {
      const auto& values = found.values[row.rank.index()];
      for (std::size_t i = 0; i < row.values.size(); ++i) {
        if (row.values[i] || !values[i]) continue;
        row.values[i] = values[i];
        row.computed = true;
      }
      row.other = row.computed && found.other;
    }
    return Ok{};
  }

  void giveUp(std::int64_t iteration, const std::string& why) {
    auto& missing = m_history.missing;
    if (missing.empty() || missing.back().why != why) missing.push_back({{}, why});
    missing.back().iterations.add({iteration, iteration});
  }

  Run& m_run;
  std::int64_t m_element;
  const std::vector<Rank>& m_ranks;
  const HistoryOptions& m_options;
  History m_history;
  std::unique_ptr<ElementComputer> m_computer;
};

}  // namespace

std::vector<TensorId> historyColumns(const core::Graph& graph, TensorId tensor) {
  const core::TensorInfo& whole = graph.tensor(tensor);
  std::vector<TensorId> columns = {tensor};
  const std::string& name = whole.alias.empty() ? whole.name : whole.alias;
  for (const core::TensorInfo& other : graph.tensors()) {
    const std::string& says = other.alias.empty() ? other.name : other.alias;
    const bool named = says.ends_with("(" + name + ")") || says.ends_with("(" + whole.name + ")");
    if (named && other.shape == whole.shape) columns.push_back(other.id);
  }
  return columns;
}

Result<History> historyOf(Run& run, TensorId tensor, std::int64_t element, const std::vector<Rank>& ranks,
                          const core::IterationSet& iterations, const HistoryOptions& options) {
  const core::Shape& shape = run.graph().tensor(tensor).shape;
  if (element < 0 || (shape.known() && element >= shape.elements()))
    return Error(ErrorCode::kUsage, run.graph().tensor(tensor).fullName() + " " + shape.text() +
                                        " has no element " + std::to_string(element));
  return Historian(run, element, ranks, options).of(tensor, iterations);
}

}  // namespace msdbg::replay
