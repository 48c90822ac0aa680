#include "app/presenters/start_place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "replay/search.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Status;

Status placeRank(const RunFacts& facts, std::optional<std::int64_t> wanted, Place& place) {
  if (!facts.ranks.empty()) place.rank = facts.ranks.front();
  if (!wanted) return Ok{};
  const auto found = std::ranges::find(facts.ranks, *wanted, [](core::Rank r) { return r.value; });
  if (found == facts.ranks.end()) {
    std::vector<std::int64_t> known;
    for (const core::Rank rank : facts.ranks) known.push_back(rank.value);
    return Error(ErrorCode::kNotFound,
                 fmt::format("rank {} is not in the run; it has: {}", *wanted, fmt::join(known, ", ")));
  }
  place.rank = *found;
  return Ok{};
}

Status placeIteration(const RunFacts& facts, std::optional<std::int64_t> wanted, Place& place) {
  const auto found = facts.iterations.find(place.rank);
  if (found == facts.iterations.end() || found->second.empty()) {
    if (!wanted) return Ok{};
    return Error(ErrorCode::kNotFound, place.rank.valid()
                                           ? fmt::format("rank {} recorded no iteration", place.rank.value)
                                           : std::string("no iteration is recorded"));
  }
  const auto& recorded = found->second;
  place.iteration = recorded.front();
  if (!wanted) return Ok{};
  place.iteration = core::Iteration(*wanted);
  if (facts.recorded(place.rank, place.iteration)) return Ok{};
  return Error(
      ErrorCode::kNotFound,
      fmt::format("iteration {} of rank {} is not recorded: {} iterations from {} to {} are", *wanted,
                  place.rank.value, recorded.size(), recorded.front().value, recorded.back().value));
}

core::Result<std::int64_t> iterationOfStep(const RunFacts& facts, std::int64_t step) {
  if (const auto found = facts.steps.find(step)) return found->value;
  if (facts.steps.empty())
    return Error(ErrorCode::kNotFound,
                 fmt::format("step {}: the program gave its steps no numbers (msdbg.step)", step));
  return Error(ErrorCode::kNotFound, fmt::format("step {} is not recorded: there are steps from {} to {}",
                                                 step, facts.steps.first(), facts.steps.last()));
}

// A name means that node; anything else is a search, as the search panel would do it.
Status placeNodes(const RunFacts& facts, const std::string& query, Place& place) {
  if (query.empty()) return Ok{};
  const core::Graph& graph = *facts.graph;
  if (const auto named = replay::resolveNodes(graph, query); named.ok()) {
    place.nodes = *named;
  } else {
    const auto found = replay::search(graph, query);
    if (!found.ok()) return found.error();
    place.nodes = found->nodes;
    const std::size_t colon = query.rfind(':');
    if (!found->file.empty() && !place.nodes.empty())
      place.line = SourceLine{found->file, std::atoi(query.c_str() + colon + 1)};
  }
  if (place.nodes.empty()) return Error(ErrorCode::kNotFound, "no node at " + query);
  const core::Node& first = graph.node(place.nodes.front());
  if (!first.outputs.empty()) place.tensor = first.outputs.front();
  if (!place.line) place.line = lineOf(graph, first.frames);
  return Ok{};
}

}  // namespace

core::Result<Place> resolveStart(const RunFacts& facts, const StartPlace& start) {
  Place place;
  MSDBG_TRY(placeRank(facts, start.rank, place));
  std::optional<std::int64_t> iteration = start.iteration;
  if (start.step) {
    MSDBG_ASSIGN(iteration, iterationOfStep(facts, *start.step));
  }
  MSDBG_TRY(placeIteration(facts, iteration, place));
  MSDBG_TRY(placeNodes(facts, start.node, place));
  return place;
}

}  // namespace msdbg::app
