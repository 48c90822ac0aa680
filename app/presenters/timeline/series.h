// Series: a scalar, or all statistics of a tensor, over the iterations of every rank, read piece by piece. A
// value: pieces are read on the replay thread and appended on the UI thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/presenters/timeline/quantity.h"

namespace msdbg::app {

/// What is read together.
struct SeriesKey {
  core::TensorId tensor;  // invalid: the scalar
  std::string scalar;
  bool operator==(const SeriesKey&) const = default;
};

/// Of one rank, parallel to the iterations of the facts, as far as they are read.
struct RankSeries {
  std::size_t columns = 1;
  std::vector<double> values;        // [iterations][columns]; 0 where there is none
  std::vector<std::uint32_t> known;  // a bit per column
  std::size_t size() const { return known.size(); }
  std::optional<double> at(std::size_t i, std::size_t column) const;
};

struct Series {
  SeriesKey key;
  std::map<core::Rank, RankSeries> ranks;
  bool complete = false;  // as far as the facts went that it was read with
  std::string problem;    // the first reason why something was not read: damage before "not recorded"
  bool damaged = false;

  std::size_t bytes() const;
  void append(const Series& piece);  // one that began where this one ends
  bool covers(const RunFacts& facts) const;
  /// How many iterations of each rank are read: where a piece begins.
  using End = std::map<core::Rank, std::size_t>;
  End end() const;
};

/// Replay thread: reads on from there, for at most `milliseconds`.
Series readPiece(replay::Run& run, const core::CancelToken& cancel, const RunFacts& facts,
                 const SeriesKey& key, const Series::End& from, int milliseconds);

}  // namespace msdbg::app
