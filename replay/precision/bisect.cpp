#include "replay/precision/bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "core_engine/base/text.h"
#include "replay/precision/needed_memory.h"
#include "replay/precision/rank_pass.h"
#include "replay/precision/recorded_values.h"
#include "replay/recompute/free_memory.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;

namespace {

constexpr unsigned kMostThreads = 64;

struct RankGraph {
  Rank rank;
  core::Graph graph;
};

class Bisection {
 public:
  Bisection(Run& run, Iteration iteration, const std::vector<Rank>& ranks, const BisectOptions& options)
      : m_run(run), m_iteration(iteration), m_ranks(ranks), m_options(options) {}

  Result<Precision> run() {
    MSDBG_ASSIGN(const std::vector<RankGraph> graphs, readGraphs());
    MSDBG_TRY(checkMemory(graphs));
    RecordedValues values(m_run, m_iteration, m_options.cancel, missingBytes(graphs), m_options.recomputing);
    std::vector<RankPass> passes;
    for (const RankGraph& each : graphs) {
      MSDBG_ASSIGN(RankPass pass, RankPass::create(each.graph, m_run.part(each.rank, m_iteration), values,
                                                   stateOf(each.rank), isAsked(each.rank)));
      passes.push_back(std::move(pass));
    }
    MSDBG_TRY(walk(passes));
    Precision precision;
    for (const RankPass& pass : passes) pass.collect(precision);
    precision.differences = values.differences();
    if (precision.rows.empty())
      return Error(ErrorCode::kUnavailable,
                   fmt::format("iteration {}: nothing to compare with float64{}", m_iteration.value,
                               precision.unjudged.empty() ? "" : ": " + precision.unjudged.front().why));
    return precision;
  }

 private:
  bool isAsked(Rank rank) const { return std::ranges::find(m_ranks, rank) != m_ranks.end(); }

  // Of those that were asked for, and of all where ranks give each other something.
  Result<std::vector<RankGraph>> readGraphs() {
    Recomputable* const source = m_run.recomputable();
    if (!source)
      return Error(ErrorCode::kUnsupported,
                   m_run.folder().string() + ": a run of this format holds no graph to compute it again by");
    std::vector<RankGraph> graphs;
    for (const Rank rank : m_run.ranks()) {
      Result<core::Graph> graph = source->recordedGraph(rank, m_iteration);
      if (!graph.ok() && isAsked(rank)) return graph.error();
      if (graph.ok()) graphs.push_back({rank, std::move(*graph)});
    }
    return graphs;
  }

  core::RunState stateOf(Rank rank) const {
    core::RunState state;
    state.iteration = m_iteration;
    state.rank = rank;
    state.ranks = m_run.rankCount();
    state.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads));
    state.seed = m_run.description().seed;
    return state;
  }

  // For Hindsight, which gives every rank the same share.
  std::uint64_t missingBytes(const std::vector<RankGraph>& graphs) const {
    double most = 0;
    for (const RankGraph& each : graphs) {
      const core::GraphPart* part = m_run.part(each.rank, m_iteration);
      double bytes = 0;
      for (const core::TensorInfo& info : each.graph.tensors())
        if (!m_run.origin(each.rank, m_iteration, part ? part->tensorAt(info.id.value) : info.id))
          bytes += bytesOf(info);
      most = std::max(most, bytes);
    }
    return static_cast<std::uint64_t>(std::min(most * m_run.rankCount(), 1e18));
  }

  Status checkMemory(const std::vector<RankGraph>& graphs) const {
    std::uint64_t needed = missingBytes(graphs);
    for (const RankGraph& each : graphs) needed += std::min(bisectBytes(each.graph), std::uint64_t{1} << 60);
    const std::optional<std::uint64_t> free = freeMemory();
    if (!free || needed <= *free) return Ok{};
    return Error(ErrorCode::kUnavailable,
                 fmt::format("iteration {} in float64 takes up to {} of memory, and {} are free: close other "
                             "programs, or use a larger machine",
                             m_iteration.value, core::formatBytes(needed), core::formatBytes(*free)));
  }

  // Each rank as far as it comes without the others. All wait: their collectives are not those of a run that
  // went on.
  Status walk(std::vector<RankPass>& passes) {
    Meeting meeting;
    std::int64_t all = 0, done = 0;
    for (const RankPass& pass : passes) {
      pass.announce(meeting);
      all += pass.nodes();
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (RankPass& pass : passes)
        while (!pass.isDone()) {
          if (m_options.cancel.cancelled()) return Error(ErrorCode::kCancelled, "interrupted");
          if (m_options.progress) m_options.progress(done, all);
          MSDBG_ASSIGN(const bool went, pass.advance(meeting));
          if (!went) break;
          moved = true;
          ++done;
        }
    }
    if (done == all) return Ok{};
    return Error(ErrorCode::kUnsupported, "its ranks have collectives in orders that do not meet");
  }

  Run& m_run;
  Iteration m_iteration;
  const std::vector<Rank>& m_ranks;
  const BisectOptions& m_options;
};

std::vector<std::size_t> ranked(const std::vector<PrecisionRow>& rows, auto&& key) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (key(rows[i])) places.push_back(i);
  std::ranges::stable_sort(places,
                           [&](std::size_t a, std::size_t b) { return *key(rows[a]) > *key(rows[b]); });
  return places;
}

}  // namespace

Result<Precision> bisectPrecision(Run& run, Iteration iteration, const std::vector<Rank>& ranks,
                                  const BisectOptions& options) {
  try {
    return Bisection(run, iteration, ranks, options).run();
  } catch (const std::exception& failure) {  // core::OutOfMemory
    return Error(ErrorCode::kUnavailable,
                 fmt::format("iteration {} in float64: {}", iteration.value, failure.what()));
  }
}

bool PrecisionRow::suspicious() const { return local && local->units > kSuspiciousUnits; }
bool Precision::suspicious() const { return std::ranges::any_of(rows, &PrecisionRow::suspicious); }

std::string_view roundingKindName(RoundingKind kind) {
  switch (kind) {
    case RoundingKind::kOverflow:
      return "overflow";
    case RoundingKind::kUnderflow:
      return "underflow";
    case RoundingKind::kDenormals:
      return "denormals";
    case RoundingKind::kCancellation:
      return "cancellation";
    case RoundingKind::kAbsorption:
      return "absorption";
  }
  return "";
}

std::vector<std::size_t> rankedByLocal(const std::vector<PrecisionRow>& rows) {
  return ranked(rows, [](const PrecisionRow& row) {
    return row.local ? std::optional(row.local->units) : std::nullopt;
  });
}

std::vector<std::size_t> rankedByAccumulated(const std::vector<PrecisionRow>& rows) {
  return ranked(rows, [](const PrecisionRow& row) {
    return row.accumulated ? std::optional(row.accumulated->relative) : std::nullopt;
  });
}

}  // namespace msdbg::replay
