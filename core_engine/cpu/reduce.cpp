// ReduceSum, ReduceMean, their gradients, ReduceSumSquare and GlobalAveragePool. Sums are formed in double
// from fixed pieces (16 lanes, folded in one order) or row by row, and added up in row-major order: the bits
// do not depend on the thread count.
#include <cstring>

#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/ops/reduction.h"

namespace msdbg::core::cpu {
namespace {

constexpr std::int64_t kPiece = 8192;   // elements summed in lanes at a time
constexpr std::int64_t kColumns = 256;  // columns whose sums stay in the first-level cache

struct Reduction {
  ReductionPlan plan;
  double divisor;  // 1 for sums
  int threads;
  bool squares = false;
  bool innerReduced() const { return plan.runStride == 1; }
  std::int64_t work() const { return plan.results() * plan.reducedCount(); }
};

/// The pieces [first, last) of a run of contiguous elements, each summed in lanes.
void sumPieces(bool squares, const float* run, std::int64_t length, std::int64_t first, std::int64_t last,
               double* pieces) {
  for (std::int64_t piece = first; piece < last; ++piece) {
    const float* from = run + piece * kPiece;
    const std::int64_t count = std::min(kPiece, length - piece * kPiece);
    pieces[piece] = squares ? dotTile(from, from, count) : sumTile(from, count);
  }
}

/// `sum` plus the elements of a run; the pieces of a long one are shared among `threads`.
double addRun(const Reduction& r, double sum, const float* run, int threads, std::vector<double>& pieces) {
  parallelRanges(static_cast<std::int64_t>(pieces.size()), 1, threads, r.plan.runLength,
                 [&](std::int64_t first, std::int64_t last) {
                   sumPieces(r.squares, run, r.plan.runLength, first, last, pieces.data());
                 });
  for (double piece : pieces) sum += piece;
  return sum;
}

/// The results one after another.
void sumRuns(const Reduction& r, const float* x, std::int64_t begin, std::int64_t end, int threads,
             float* y) {
  std::vector<double> pieces(static_cast<std::size_t>((r.plan.runLength + kPiece - 1) / kPiece));
  for (std::int64_t result = begin; result < end; ++result) {
    const float* from = x + r.plan.begin(result);
    double sum = 0;
    for (std::int64_t offset : r.plan.reducedOffsets) sum = addRun(r, sum, from + offset, threads, pieces);
    y[result] = static_cast<float>(sum / r.divisor);
  }
}

void sumInner(const Reduction& r, const float* x, float* y) {
  const std::int64_t results = r.plan.results();
  if (results < r.threads) return sumRuns(r, x, 0, results, r.threads, y);
  parallelRanges(results, 1, r.threads, r.work(),
                 [&](std::int64_t begin, std::int64_t end) { sumRuns(r, x, begin, end, 1, y); });
}

/// Results [first, first + count), neighbours in memory: sums of columns.
void sumColumns(const Reduction& r, const float* x, std::int64_t first, std::int64_t count, float* y) {
  double sums[kColumns] = {};
  const float* from = x + r.plan.begin(first);
  for (std::int64_t offset : r.plan.reducedOffsets)
    for (std::int64_t i = 0; i < r.plan.runLength; ++i)
      addRowTile(from + offset + i * r.plan.runStride, sums, count);
  for (std::int64_t j = 0; j < count; ++j) y[first + j] = static_cast<float>(sums[j] / r.divisor);
}

void sumOuter(const Reduction& r, const float* x, float* y) {
  const std::int64_t width = r.plan.keptDims.back(), chunks = (width + kColumns - 1) / kColumns;
  parallelRanges(r.plan.results() / width * chunks, 1, r.threads, r.work(),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t chunk = begin; chunk < end; ++chunk) {
                     const std::int64_t column = chunk % chunks * kColumns;
                     sumColumns(r, x, chunk / chunks * width + column, std::min(kColumns, width - column), y);
                   }
                 });
}

/// Repeats [first, first + count) of dy, neighbours in memory, over the reduced dimensions.
void spreadRow(const Reduction& r, const float* dy, std::int64_t first, std::int64_t count, float* dx) {
  float row[kColumns];
  for (std::int64_t j = 0; j < count; ++j)
    row[j] = static_cast<float>(static_cast<double>(dy[first + j]) / r.divisor);
  float* to = dx + r.plan.begin(first);
  for (std::int64_t offset : r.plan.reducedOffsets)
    for (std::int64_t i = 0; i < r.plan.runLength; ++i)
      std::memcpy(to + offset + i * r.plan.runStride, row, static_cast<std::size_t>(count) * sizeof(float));
}

void spreadOuter(const Reduction& r, const float* dy, float* dx) {
  const std::int64_t width = r.plan.keptDims.back(), chunks = (width + kColumns - 1) / kColumns;
  parallelRanges(
      r.plan.results() / width * chunks, 1, r.threads, r.work(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t chunk = begin; chunk < end; ++chunk) {
          const std::int64_t column = chunk % chunks * kColumns;
          spreadRow(r, dy, chunk / chunks * width + column, std::min(kColumns, width - column), dx);
        }
      });
}

void spreadInner(const Reduction& r, const float* dy, float* dx) {
  parallelRanges(r.plan.results(), 1, r.threads, r.work(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t result = begin; result < end; ++result) {
      const float value = static_cast<float>(static_cast<double>(dy[result]) / r.divisor);
      for (std::int64_t offset : r.plan.reducedOffsets)
        std::fill_n(dx + r.plan.begin(result) + offset, r.plan.runLength, value);
    }
  });
}

using Loop = void (*)(const Reduction& r, const float* from, float* to);

Backend::Answer run(const CompileRequest& r, const Reduction& d, Loop loop) {
  return functionKernel(r, [d, loop](const KernelArgs& args) -> Status {
    loop(d, args.inputs[0]->data<float>().data(), args.outputs[0]->data<float>().data());
    return Ok{};
  });
}

Backend::Answer reduction(const CompileRequest& r, const Shape& full, bool mean, Loop inner, Loop outer) {
  const auto reduced = reducedAxes(r.node.opType, r.node.attributes, full.rank());
  if (!reduced) return decline(reduced.error().message());
  Reduction d{planReduction(full, *reduced), 1, r.threads};
  if (mean) d.divisor = static_cast<double>(d.plan.reducedCount());
  return run(r, d, d.innerReduced() ? inner : outer);
}

}  // namespace

Backend::Answer reduceSumSquareKernel(const CompileRequest& r) {
  const Shape& x = r.input(0).shape;
  const auto reduced = reducedAxes(r.node.opType, r.node.attributes, x.rank());
  if (!reduced) return decline(reduced.error().message());
  const Reduction d{planReduction(x, *reduced), 1, r.threads, true};
  return d.innerReduced() ? run(r, d, sumInner) : decline("the innermost dimension is not reduced");
}
Backend::Answer globalAveragePoolKernel(const CompileRequest& r) {
  const Shape& x = r.input(0).shape;
  std::vector<bool> reduced(x.rank(), true);
  reduced[0] = reduced[1] = false;
  Reduction d{planReduction(x, reduced), 1, r.threads};
  d.divisor = static_cast<double>(d.plan.reducedCount());
  return run(r, d, sumInner);
}

Backend::Answer reduceSumKernel(const CompileRequest& r) {
  return reduction(r, r.input(0).shape, false, sumInner, sumOuter);
}
Backend::Answer reduceMeanKernel(const CompileRequest& r) {
  return reduction(r, r.input(0).shape, true, sumInner, sumOuter);
}
Backend::Answer reduceSumGradKernel(const CompileRequest& r) {
  return reduction(r, r.output().shape, false, spreadInner, spreadOuter);
}
Backend::Answer reduceMeanGradKernel(const CompileRequest& r) {
  return reduction(r, r.output().shape, true, spreadInner, spreadOuter);
}

}  // namespace msdbg::core::cpu
