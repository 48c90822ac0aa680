#include "app/cli/like_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/run_access.h"
#include "app/cli/run_size.h"
#include "core_engine/base/text.h"
#include "dump/reader/run_reader.h"
#include "replay/formats/msdbg/translate.h"
#include "replay/recorded_from.h"

namespace msdbg::app {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Rank;
using core::Result;

namespace {

constexpr std::size_t kMostIterations = 64;  // the newest of a rank tell enough

std::vector<Iteration> newestComplete(const dump::RunReader& run, Rank rank) {
  std::vector<Iteration> iterations;
  for (const dump::IterationState& state : run.iterations(rank))
    if (state.complete && !run.thinned(rank, Iteration(state.iteration)))
      iterations.emplace_back(state.iteration);
  if (iterations.size() > kMostIterations)
    iterations.erase(iterations.begin(), iterations.end() - kMostIterations);
  return iterations;
}

// A tensor that is not there in an iteration takes nothing then; lengths may change from one to the next.
std::vector<std::uint64_t> meanValueBytes(dump::RunReader& run, const core::Graph& graph, Rank rank,
                                          const std::vector<Iteration>& iterations) {
  std::vector<std::uint64_t> means;
  for (const core::TensorInfo& tensor : graph.tensors()) {
    const auto known = run.graph().findTensor(tensor.fullName());
    std::uint64_t bytes = 0;
    for (const Iteration iteration : iterations)
      if (const auto* row = known ? run.row(rank, iteration, *known).row : nullptr)
        bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(0, row->values.count)) *
                 core::dtypeSize(tensor.dtype);
    const bool hashedOnly = bytes == 0 && tensor.shape.known();  // by its shape, then
    means.push_back(hashedOnly
                        ? static_cast<std::uint64_t>(tensor.shape.elements()) * core::dtypeSize(tensor.dtype)
                        : bytes / std::max<std::size_t>(1, iterations.size()));
  }
  return means;
}

// The middle one: the first iterations of a training take longer.
double stepSeconds(dump::RunReader& run, Rank rank, const std::vector<Iteration>& iterations) {
  std::vector<double> seconds;
  for (const Iteration iteration : iterations)
    if (const auto value = run.scalar(rank, iteration, "step_time"); value && *value > 0)
      seconds.push_back(*value);
  if (seconds.empty()) return 0;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::ranges::nth_element(seconds, middle);
  return *middle;
}

std::string libraryOf(const dump::RunInfo& info, const std::string& name) {
  const auto found = std::ranges::find(info.libraries, name, &std::pair<std::string, std::string>::first);
  return found == info.libraries.end() ? "" : found->second;
}

// The rank that computed most; not every one computes the same (stages of a pipeline, experts).
core::Status findWidest(const dump::RunReader& run, LikeRun& like) {
  for (const Rank rank : run.ranks()) {
    const std::vector<Iteration> iterations = newestComplete(run, rank);
    if (iterations.empty()) continue;
    MSDBG_ASSIGN(core::Graph graph, run.recordedGraph(rank, iterations.back()));
    if (like.rank.valid() && graph.tensors().size() <= like.measured.graph.tensors().size()) continue;
    like.measured.graph = std::move(graph);
    like.rank = rank;
    like.iterations = static_cast<std::int64_t>(run.iterationSet(rank).size());
  }
  if (like.rank.valid()) return core::Ok{};
  return Error(ErrorCode::kUnavailable, fmt::format("--like {}: no complete iteration is recorded there; let "
                                                    "the program do five steps or so and end",
                                                    like.path));
}

core::Status checkLevel(const LikeRun& like, const std::string& level) {
  if (level.empty() || like.level == level) return core::Ok{};
  if (like.level.empty())
    return Error(ErrorCode::kUsage,
                 fmt::format("--like {}: it is no recording of PyTorch and has no --level", like.path));
  return Error(ErrorCode::kUsage,
               fmt::format("--like {}: it was recorded at level {} and cannot tell of level {}: record five "
                           "steps with --level {}, and give that run",
                           like.path, like.level, level, level));
}

}  // namespace

Result<LikeRun> readLikeRun(const std::string& path, const std::string& level) {
  MSDBG_ASSIGN(const std::string found, findRun(path));
  MSDBG_ASSIGN(const auto run, dump::RunReader::open(found));
  LikeRun like;
  like.path = found;
  like.from = replay::recordedFrom(replay::translated(run->info()));
  like.level = libraryOf(run->info(), "level");
  like.backend = run->info().backend;
  like.ranks = run->info().ranks;
  MSDBG_TRY(checkLevel(like, level));
  MSDBG_TRY(findWidest(*run, like));
  const std::vector<Iteration> iterations = newestComplete(*run, like.rank);
  dump::MeasuredTraining& measured = like.measured;
  measured.valueBytes = meanValueBytes(*run, measured.graph, like.rank, iterations);
  measured.scalars = std::ssize(run->scalarNames());
  measured.stepSeconds = stepSeconds(*run, like.rank, iterations);
  measured.graphBytes = folderBytes(run->folder() / "graphs") + folderBytes(run->folder() / "sources");
  return like;
}

std::string adviceToMeasure(const std::vector<std::string>& program, std::optional<int> ranks,
                            std::optional<std::int64_t> steps) {
  std::string words;
  for (const std::string& word : program) words += " " + core::printable(core::shellQuoted(word));
  return fmt::format(
      "what a program records is known once it runs: record five steps or so (let it end by its own options, "
      "or by "
      "Ctrl-C) with `msdbg dump -o short.msdbg --{}`, then ask `msdbg dump --dry-run --like short.msdbg -n "
      "{} "
      "--steps {} --{}`",
      words, ranks.value_or(64), steps.value_or(100'000), words);
}

}  // namespace msdbg::app
