#include "dump/policy/expected_disk.h"

#include <algorithm>
#include <cmath>

#include "dump/policy/checkpoints.h"

namespace msdbg::dump {
namespace {

// FORMAT.md "Statistics thin": number, time, flag, step and digest of an iteration; each scalar, and the
// hashes of a batch together, has the number once more.
constexpr std::uint64_t kIteration = 8 + 8 + 1 + 8 + 16, kScalar = 8, kNumber = 8;
constexpr std::uint64_t kLine = 300;         // of the journal: a segment
constexpr std::uint64_t kSmallFile = 27000;  // HDF5's own of a file with statistics, and their checksums

// Its lines, and its place in the lists of those that thin: some 3 bytes, again for each time they are
// merged.
std::uint64_t journalBytes(const RecordOptions& options, double stepSeconds, bool thins) {
  constexpr std::uint64_t kInLists = 20;
  const double segments = stepSeconds > 0 ? expectedWork(options, 1, stepSeconds).files * stepSeconds : 1;
  const double lines = thins ? 2 * segments : segments;
  return static_cast<std::uint64_t>(std::ceil(lines * kLine)) + (thins ? kInLists : 0);
}

}  // namespace

core::Result<ExpectedSize> expectedSize(const MeasuredTraining& measured, const RecordOptions& options,
                                        int ranks, std::int64_t steps) {
  const core::Graph& graph = measured.graph;
  MSDBG_ASSIGN(ExpectedSize size,
               expectedSize(graph, options, ranks, steps, {.values = measured.valueBytes}));
  std::uint64_t longest = 0;
  for (const core::TensorInfo& tensor : graph.tensors())
    longest = std::max<std::uint64_t>(longest, tensor.fullName().size());
  size.fileBytes = kSmallFile + longest * graph.tensors().size();  // names have one length in HDF5
  size.graphBytes = measured.graphBytes;
  const bool thins = size.statisticsBytes > options.maxBytes;
  size.journalBytes = journalBytes(options, measured.stepSeconds, thins);
  const auto hashes = static_cast<std::uint64_t>(std::ranges::count_if(graph.tensors(), inBatch));
  size.alwaysBytes = kIteration + static_cast<std::uint64_t>(measured.scalars) * (kScalar + kNumber) +
                     (hashes > 0 ? hashes * sizeof(core::Hash128) + kNumber : 0) + size.journalBytes;
  return size;
}

ExpectedDisk expectedDisk(const ExpectedSize& size, const MeasuredTraining& measured,
                          const RecordOptions& options, int ranks) {
  const auto all = static_cast<std::uint64_t>(ranks),
             iterations = static_cast<std::uint64_t>(size.iterations);
  const ExpectedThinning thinning = expectedThinning(size, options, ranks);
  ExpectedDisk disk;
  disk.seconds = measured.stepSeconds * static_cast<double>(iterations);
  const ExpectedWork work = expectedWork(options, ranks, measured.stepSeconds);
  disk.files = work.files * disk.seconds;
  disk.fsyncs = work.fsyncs * disk.seconds;
  disk.graphBytes = size.graphBytes;
  disk.journalBytes = all * iterations * size.journalBytes;
  disk.alwaysBytes = all * iterations * (size.alwaysBytes - size.journalBytes);
  const std::uint64_t files = thinning.rowBytes / std::max<std::uint64_t>(1, options.maxBytes / all / 8) + 4;
  disk.rowBytes = all * (thinning.rowBytes + std::min<std::uint64_t>(files, kFilesWithRows) * size.fileBytes);
  const std::uint64_t others = std::min(disk.bytes(), options.maxBytes);
  disk.valueBytes = std::min(size.bytes() - size.statisticsBytes,
                             std::max(options.maxBytes - others, options.maxBytes / 4));
  return disk;
}

}  // namespace msdbg::dump
