#include "app/presenters/timeline/series.h"

#include <algorithm>
#include <chrono>

#include "core_engine/tensor/flags.h"
#include "replay/run_state.h"

namespace msdbg::app {
namespace {

using Clock = std::chrono::steady_clock;

void note(Series& series, const core::Error& error) {
  const bool damaged = error.code() != core::ErrorCode::kUnavailable;
  if (!series.problem.empty() && (series.damaged || !damaged)) return;
  series.problem = error.message();
  series.damaged = damaged;
}

// A scalar has no error of its own: the list of damage tells whether it was lost.
void noteLost(replay::Run& run, core::Rank rank, core::Iteration iteration, Series& series) {
  if (series.damaged) return;
  if (const auto file = replay::damageAt(run.damage(), rank, iteration))
    note(series, core::Error(core::ErrorCode::kDamaged, replay::damageText(*file)));
}

void addScalar(replay::Run& run, core::Rank rank, core::Iteration iteration, Series& series) {
  RankSeries& line = series.ranks[rank];
  const std::optional<double> value = run.scalar(rank, iteration, series.key.scalar);
  line.values.push_back(value.value_or(0));
  line.known.push_back(value ? 1 : 0);
  if (!value) noteLost(run, rank, iteration, series);
}

void noteMissing(replay::Run& run, core::Rank rank, core::Iteration iteration, Series& series) {
  const core::Error why = run.missingStatistics(rank, iteration, series.key.tensor);
  if (why.code() == core::ErrorCode::kDamaged) noteLost(run, rank, iteration, series);
  note(series, why);
}

void addStatistics(replay::Run& run, core::Rank rank, core::Iteration iteration, Series& series) {
  const auto statistics = timelineStatistics();
  RankSeries& line = series.ranks[rank];
  line.columns = statistics.size();
  const watch::StatisticsRow* row = run.flags(rank, iteration, series.key.tensor);
  if (!row || core::isFlags(row->values)) noteMissing(run, rank, iteration, series);
  std::uint32_t known = 0;
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    const std::optional<double> value = row ? statistics[i].of(*row) : std::nullopt;
    line.values.push_back(value.value_or(0));
    if (value) known |= 1U << i;
  }
  line.known.push_back(known);
}

}  // namespace

std::optional<double> RankSeries::at(std::size_t i, std::size_t column) const {
  if (i >= known.size() || column >= columns || !(known[i] >> column & 1U)) return {};
  return values[i * columns + column];
}

std::size_t Series::bytes() const {
  std::size_t sum = 0;
  for (const auto& [rank, line] : ranks)
    sum += line.values.size() * sizeof(double) + line.known.size() * sizeof(std::uint32_t);
  return sum;
}

void Series::append(const Series& piece) {
  for (const auto& [rank, more] : piece.ranks) {
    RankSeries& line = ranks[rank];
    line.columns = more.columns;
    line.values.insert(line.values.end(), more.values.begin(), more.values.end());
    line.known.insert(line.known.end(), more.known.begin(), more.known.end());
  }
  complete = piece.complete;
  if (!piece.problem.empty() && (problem.empty() || (piece.damaged && !damaged))) {
    problem = piece.problem;
    damaged = piece.damaged;
  }
}

bool Series::covers(const RunFacts& facts) const {
  return std::ranges::all_of(facts.ranks, [&](core::Rank rank) {
    const auto line = ranks.find(rank);
    return (line == ranks.end() ? 0 : line->second.size()) == facts.iterations.at(rank).size();
  });
}

Series::End Series::end() const {
  End end;
  for (const auto& [rank, line] : ranks) end[rank] = line.size();
  return end;
}

// Rank by rank: neighbouring rows lie in one segment.
Series readPiece(replay::Run& run, const core::CancelToken& cancel, const RunFacts& facts,
                 const SeriesKey& key, const Series::End& from, int milliseconds) {
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  Series piece{key, {}, false, {}, false};
  for (const core::Rank rank : facts.ranks) {
    const auto begin = from.find(rank);
    const std::vector<core::Iteration>& iterations = facts.iterations.at(rank);
    for (std::size_t i = begin == from.end() ? 0 : begin->second; i < iterations.size(); ++i) {
      if (cancel.cancelled() || Clock::now() > end) return piece;
      if (key.tensor.valid())
        addStatistics(run, rank, iterations[i], piece);
      else
        addScalar(run, rank, iterations[i], piece);
    }
  }
  piece.complete = true;
  return piece;
}

}  // namespace msdbg::app
