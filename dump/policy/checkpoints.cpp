#include "dump/policy/checkpoints.h"

#include <algorithm>
#include <limits>

#include "core_engine/graph/roles.h"
#include "dump/policy/decisions.h"

namespace msdbg::dump {
namespace {

constexpr std::uint64_t kShare = 100;  // of the bytes of everything: one hundredth
constexpr std::uint64_t kPartsOfBudget = 4;

std::uint64_t bytesOf(const core::TensorInfo& tensor) {
  if (!tensor.shape.known()) return 0;
  return static_cast<std::uint64_t>(tensor.shape.elements()) * core::dtypeSize(tensor.dtype);
}

// The next multiple; the largest number there is where that is too large.
std::int64_t roundUp(std::int64_t value, std::int64_t unit) {
  const std::int64_t missing = value % unit == 0 ? 0 : unit - value % unit;
  return value > std::numeric_limits<std::int64_t>::max() - missing ? std::numeric_limits<std::int64_t>::max()
                                                                    : value + missing;
}

}  // namespace

bool inCheckpoint(const core::TensorInfo& tensor) { return core::isCarried(tensor); }
bool inBatch(const core::TensorInfo& tensor) { return tensor.isSource() && !core::isCarried(tensor); }

bool isEmpty(const core::TensorInfo& tensor) { return tensor.shape.known() && tensor.shape.elements() == 0; }

std::uint64_t checkpointBytes(const core::Graph& graph) {
  std::uint64_t bytes = 0;
  for (const core::TensorInfo& tensor : graph.tensors())
    if (inCheckpoint(tensor)) bytes += bytesOf(tensor);
  return bytes;
}

bool checkpointsTooLarge(const RecordOptions& options, const core::Graph& graph, int ranks) {
  const std::uint64_t share = options.maxBytes / static_cast<std::uint64_t>(std::max(1, ranks));
  return options.checkpoints() == RecordOptions::kAuto && checkpointBytes(graph) > share / kPartsOfBudget;
}

// What somebody wants to have nothing of is not to be found in the run by another name.
bool leavesOutInputs(const RecordOptions& options, const core::Graph& graph, int ranks) {
  if (std::ranges::none_of(options.rules, [](const Rule& rule) { return rule.policy == Policy::kNone; }))
    return false;
  for (int rank = 0; rank < ranks; ++rank) {  // all are needed
    const core::Result<Decisions> decisions = Decisions::make(graph, options, core::Rank(rank));
    if (!decisions.ok()) return false;  // whoever uses them says so
    if (std::ranges::any_of(graph.tensors(), [&](const core::TensorInfo& tensor) {
          return inBatch(tensor) && !isEmpty(tensor) && decisions->most(tensor.id) == Policy::kNone;
        }))
      return true;
  }
  return false;
}

bool keepsBatches(const RecordOptions& options, const core::Graph& graph, int ranks) {
  if (options.batches) return *options.batches;
  return options.replay() && !leavesOutInputs(options, graph, ranks) &&
         !checkpointsTooLarge(options, graph, ranks);
}

std::int64_t checkpointInterval(const RecordOptions& options, const core::Graph& graph, int ranks) {
  const std::int64_t wanted = options.checkpoints();
  if (wanted != RecordOptions::kAuto) return wanted;
  if (!options.checkpointEvery && leavesOutInputs(options, graph, ranks))
    return RecordOptions::kNoCheckpoints;
  if (checkpointsTooLarge(options, graph, ranks)) return RecordOptions::kNoCheckpoints;
  std::uint64_t full = 0;
  for (const core::TensorInfo& tensor : graph.tensors()) full += bytesOf(tensor);
  if (full == 0) return 1;
  return static_cast<std::int64_t>(
      std::max<std::uint64_t>(1, (checkpointBytes(graph) * kShare + full - 1) / full));
}

// Within a range of `iterations` the recorded ones are `every` apart, so checkpoints are evenly spaced.
std::int64_t countCheckpoints(const RecordOptions& options, std::int64_t interval, std::int64_t steps,
                              std::int64_t from) {
  if (interval < 1) return 0;
  std::int64_t count = 0, due = from;
  const std::int64_t step = roundUp(interval, options.every);
  for (const core::IndexList::Range& range : options.iterations.ranges()) {
    const std::int64_t last = std::min(range.last, from + (steps - 1));
    const std::int64_t first = roundUp(std::max(range.first, due), options.every);
    if (first > last) continue;
    const std::int64_t kept = (last - first) / step + 1;
    count += kept;
    due = first + (kept - 1) * step + interval;
  }
  return count;
}

}  // namespace msdbg::dump
