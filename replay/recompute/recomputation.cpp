#include "replay/recompute/recomputation.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ranges>

#include "core_engine/base/text.h"
#include "core_engine/distributed/communicators.h"
#include "replay/recompute/environment.h"
#include "replay/recompute/free_memory.h"

namespace msdbg::replay {
namespace {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;

constexpr int kMostThreads = 1024;

Error atIteration(const Error& error, Iteration iteration, int rank, int ranks) {
  return error.in(ranks > 1 ? fmt::format("iteration {}, rank {}", iteration.value, rank)
                            : fmt::format("iteration {}", iteration.value));
}

}  // namespace

Recomputation::~Recomputation() = default;

Result<std::unique_ptr<Recomputation>> Recomputation::create(Run& run, core::CancelToken cancel,
                                                             core::BackendKind backend) {
  Recomputable* const source = run.recomputable();
  if (!source)
    return Error(ErrorCode::kUnsupported,
                 run.folder().string() + ": a run of this format holds nothing to compute it again from");
  std::unique_ptr<Recomputation> made(new Recomputation(run, *source));
  made->m_cancel = std::move(cancel);
  made->m_backend = backend == core::BackendKind::kFast ? backendFor(run.description()) : backend;
  MSDBG_TRY(made->makeRanks());
  return made;
}

Status Recomputation::makeRanks() {
  m_rankThreads.reset();
  m_ranks.clear();
  m_graphsOf.reset();
  m_broken = false;
  const RunDescription& recorded = m_run.description();
  if (recorded.threads < 1 || recorded.threads > kMostThreads)  // a file says so, and files are changed
    return Error(ErrorCode::kDamaged, fmt::format("run.json says {} threads of each rank", recorded.threads));
  m_threads = recorded.threads;
  m_communicators = core::makeThreadCommunicators(recorded.ranks);
  MSDBG_ASSIGN(core::PassSelection passes, core::PassSelection::parse(recorded.passes));
  for (int rank = 0; rank < recorded.ranks; ++rank) {
    core::ExecutorOptions options;
    options.threads = recorded.threads;
    options.seed = recorded.seed;
    options.rank = Rank(rank);
    options.ranks = recorded.ranks;
    options.communicator = m_communicators[static_cast<std::size_t>(rank)].get();
    options.backend = m_backend;
    options.keep.emplace();
    options.choices = {passes, recorded.recompute};
    m_ranks.push_back(std::make_unique<RankEngine>(std::move(options)));
  }
  m_rankThreads = std::make_unique<RankThreads>(recorded.ranks);
  return Ok{};
}

Result<Iteration> Recomputation::checkpointFor(Iteration iteration) const {
  return m_ways.checkpointFor(iteration, m_damaged);
}

Status Recomputation::onEachRank(const std::function<Status(int)>& work,
                                 const std::function<void()>& meanwhile) {
  std::vector<Status> ended(m_ranks.size(), Ok{});
  std::atomic<bool> failed = false;
  for (const auto& communicator : m_communicators)
    communicator->setWatchdog([&](double) { return failed ? std::string("another rank failed") : ""; });
  m_rankThreads->start([&](int rank) {
    Status& status = ended[static_cast<std::size_t>(rank)];
    try {
      status = work(rank);
    } catch (const std::exception& failure) {  // out of memory, a graph that is no graph
      status = Error(ErrorCode::kInternal, failure.what());
    }
    if (!status.ok()) failed = true;
  });
  if (meanwhile) meanwhile();
  m_rankThreads->wait();
  // One that waited for another in vain says less than that one.
  const Status* worst = nullptr;
  for (const Status& status : ended)
    if (!status.ok() && (!worst || worst->error().code() == ErrorCode::kUnavailable)) worst = &status;
  if (!worst) return Ok{};
  m_broken = true;
  return *worst;
}

Status Recomputation::useGraphs(Iteration iteration) {
  std::vector<std::optional<core::Graph>> graphs;
  for (int rank = 0; rank < ranks(); ++rank) {
    graphs.emplace_back();
    if (m_graphsOf && m_source.sameGraph(Rank(rank), *m_graphsOf, iteration)) continue;
    MSDBG_ASSIGN(graphs.back(), m_source.recordedGraph(Rank(rank), iteration));
  }
  m_graphsOf.reset();
  // The first alone, so that it is known what all need before all take it.
  if (graphs.front()) {
    MSDBG_TRY(onEachRank([&](int rank) {
      return rank == 0 ? m_ranks[0]->use(*std::exchange(graphs.front(), std::nullopt)) : Status(Ok{});
    }));
    MSDBG_TRY(checkMemory());
  }
  MSDBG_TRY(onEachRank([&](int rank) {
    std::optional<core::Graph>& graph = graphs[static_cast<std::size_t>(rank)];
    return graph ? m_ranks[static_cast<std::size_t>(rank)]->use(std::move(*graph)) : Status(Ok{});
  }));
  m_graphsOf = iteration;
  return Ok{};
}

// As if every rank needed what the first one does.
Status Recomputation::checkMemory() const {
  const std::optional<std::uint64_t> free = freeMemory();
  const std::uint64_t more = m_ranks.front()->bytes() * m_ranks.size();
  if (!free || more <= *free) return Ok{};
  return Error(
      ErrorCode::kUnavailable,
      fmt::format("{} {} {} of memory to be computed again, and {} are free: close other programs, or "
                  "use a larger machine",
                  m_ranks.size(), m_ranks.size() == 1 ? "rank needs" : "ranks need", core::formatBytes(more),
                  core::formatBytes(*free)));
}

Status Recomputation::begin(Iteration checkpoint) {
  if (m_broken) MSDBG_TRY(makeRanks());
  MSDBG_TRY(useGraphs(checkpoint));
  std::vector<core::TrainingState> states;
  for (int rank = 0; rank < ranks(); ++rank) {
    Result<core::TrainingState> state = m_source.checkpoint(Rank(rank), checkpoint);
    if (!state.ok() && state.error().code() == ErrorCode::kDamaged)
      m_damaged[checkpoint] = state.error().message();
    if (!state.ok()) return state.error();
    states.push_back(std::move(*state));
  }
  return begin(checkpoint, states);
}

Status Recomputation::begin(Iteration iteration, const std::vector<core::TrainingState>& states) {
  if (m_broken) MSDBG_TRY(makeRanks());
  MSDBG_TRY(useGraphs(iteration));
  m_ahead.clear();
  m_next = iteration;
  return onEachRank([&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    return m_ranks[at]->restore(states[at]);
  });
}

std::vector<Recomputation::Given> Recomputation::read(Iteration iteration) {
  const std::lock_guard lock(m_runLock);
  std::vector<Given> given(m_ranks.size());
  for (int rank = 0; rank < ranks(); ++rank)
    given[static_cast<std::size_t>(rank)].batch = m_source.batch(Rank(rank), iteration);
  return given;
}

Status Recomputation::step(const std::vector<core::Observer*>& observers, const core::Detour& detour,
                           const std::function<void()>& meanwhile) {
  if (m_cancel.cancelled()) return Error(ErrorCode::kCancelled, "interrupted");
  std::vector<Given> given;
  if (const auto ahead = m_ahead.find(m_next.value); ahead != m_ahead.end())
    given = std::move(ahead->second);
  else
    given = read(m_next);
  m_ahead.clear();
  std::vector<core::Batch> batches;
  for (int rank = 0; rank < ranks(); ++rank) {
    auto& batch = given[static_cast<std::size_t>(rank)].batch;
    if (!batch.ok()) return atIteration(batch.error(), m_next, rank, ranks());
    batches.push_back(std::move(*batch));
  }
  return compute(batches, observers, std::vector(m_ranks.size(), detour), [&] {
    const Iteration following(m_next.value + 1);
    if (m_ways.reaches(following)) m_ahead.emplace(following.value, read(following));
    if (meanwhile) meanwhile();
  });
}

Status Recomputation::step(const std::vector<core::Batch>& batches,
                           const std::vector<core::Observer*>& observers, std::vector<core::Detour> detours) {
  if (m_cancel.cancelled()) return Error(ErrorCode::kCancelled, "interrupted");
  return compute(batches, observers, std::move(detours), {});
}

Status Recomputation::compute(const std::vector<core::Batch>& batches,
                              const std::vector<core::Observer*>& observers,
                              std::vector<core::Detour> detours, const std::function<void()>& meanwhile) {
  MSDBG_TRY(useGraphs(m_next));
  for (core::Detour& detour : detours) detour.cancel = m_cancel;
  const auto computeOn = [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const Status status =
        m_ranks[at]->run(batches[at], observers.empty() ? nullptr : observers[at], detours[at]);
    return status.ok() ? status : Status(atIteration(status.error(), m_next, rank, ranks()));
  };
  MSDBG_TRY(onEachRank(computeOn, meanwhile));
  m_next = Iteration(m_next.value + 1);
  return Ok{};
}

Status Recomputation::replaceable(const std::vector<std::vector<core::NodeId>>& nodes) {
  return onEachRank([&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    return m_ranks[at]->replaceable(nodes[at]);
  });
}

std::vector<std::string> Recomputation::otherHere() const {
  std::vector<std::string> other = environmentDifferences(m_run.description());
  bool known = true;
  for (const auto& rank : m_ranks) {
    known = known && rank->knowsRevisions();
    for (const std::string& kernel : rank->otherKernels())
      if (!std::ranges::count(other, kernel)) other.push_back(kernel);
  }
  const std::string& version = m_run.description().version;
  if (!known && !version.empty() && version != MSDBG_VERSION)
    other.push_back("msdbg " MSDBG_VERSION " instead of " + version);
  return other;
}

std::size_t Recomputation::bytes() const {
  std::size_t bytes = 0;
  for (const auto& rank : m_ranks) bytes += rank->bytes();
  return bytes;
}

}  // namespace msdbg::replay
