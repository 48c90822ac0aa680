#include "core_engine/tensor/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "core_engine/tensor/block_statistics.h"

namespace msdbg::core {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const std::byte* elementAt(const Tensor& tensor, std::int64_t index) {
  return tensor.byteSpan().data() + static_cast<std::size_t>(index) * dtypeSize(tensor.dtype());
}

struct Block {
  const std::byte* data;
  std::size_t bytes;
  std::int64_t first, count;  // elements
};

std::int64_t blockElements(const Tensor& tensor) {
  return static_cast<std::int64_t>(kBlockBytes / dtypeSize(tensor.dtype()));
}
std::size_t blockCount(const Tensor& tensor) { return (tensor.bytes() + kBlockBytes - 1) / kBlockBytes; }

Block blockAt(const Tensor& tensor, std::int64_t i) {
  const std::int64_t step = blockElements(tensor), first = i * step;
  const std::int64_t count = std::min(step, tensor.elements() - first);
  return {elementAt(tensor, first), static_cast<std::size_t>(count) * dtypeSize(tensor.dtype()), first,
          count};
}

/// Runs f(index, Block) -> Partial for every block, in parallel; the results in block order.
template <typename Partial, typename F>
std::vector<Partial> overBlocks(const Tensor& tensor, int threads, F&& f) {
  std::vector<Partial> partials(blockCount(tensor));
  const auto blocks = static_cast<std::int64_t>(partials.size());
#pragma omp parallel for schedule(static) num_threads(std::max(threads, 1)) if (threads > 1 && blocks > 1)
  for (std::int64_t i = 0; i < blocks; ++i) partials[static_cast<std::size_t>(i)] = f(i, blockAt(tensor, i));
  return partials;
}

/// Adds block b to the total: Chan, Golub and LeVeque 1979, "Updating formulae … for computing sample
/// variances".
void combine(BlockMoments& total, const BlockMoments& b) {
  const auto n = static_cast<double>(total.finite), m = static_cast<double>(b.finite);
  if (b.finite > 0) {
    const double delta = b.mean - total.mean;
    total.squaredDeviations += b.squaredDeviations + delta * delta * (n * m / (n + m));
    total.mean += delta * (m / (n + m));
  }
  total.finite += b.finite;
  total.nan += b.nan;
  total.posInf += b.posInf;
  total.negInf += b.negInf;
  total.zero += b.zero;
  total.negative += b.negative;
  total.min = std::min(total.min, b.min);
  total.max = std::max(total.max, b.max);
  total.sum += b.sum;
  total.sumAbs += b.sumAbs;
  total.sumSquares += b.sumSquares;
}

BlockMoments combined(const std::vector<BlockMoments>& blocks) {
  BlockMoments total;
  total.min = std::numeric_limits<double>::infinity();
  total.max = -total.min;
  for (const BlockMoments& block : blocks) combine(total, block);
  return total;
}

void fillMoments(const BlockMoments& m, TensorStatistics& s) {
  const auto n = static_cast<double>(m.finite);
  s.l1 = m.sumAbs;
  s.l2 = std::sqrt(m.sumSquares);
  if (m.finite == 0) {
    s.min = s.max = s.mean = s.meanAbs = kNaN;
    return;
  }
  s.min = m.min + 0.0;  // -0.0 becomes 0.0
  s.max = m.max + 0.0;
  s.mean = m.sum / n;
  s.meanAbs = m.sumAbs / n;
  // Equal elements: exact, where the sums would leave a rounding error for a deviation.
  if (m.min == m.max) {
    s.mean = s.min;
    s.meanAbs = std::fabs(s.min);
  } else {
    s.std = std::sqrt(m.squaredDeviations / (n - 1));
  }
}

/// A tensor seen as [outer, units, inner]: see ActivationStatistics.
struct Units {
  std::int64_t outer = 1, units = 1, inner = 1;
};
Units unitsOf(const Tensor& x) {
  const Shape& shape = x.shape();
  if (shape.rank() < 2) return {1, 1, x.elements()};
  return {shape[0], shape[1], shape[0] * shape[1] == 0 ? 0 : x.elements() / (shape[0] * shape[1])};
}

/// Active elements of the units [first, last).
void countUnits(const Tensor& x, const Units& u, std::int64_t first, std::int64_t last,
                std::int64_t* active) {
  for (std::int64_t o = 0; o < u.outer; ++o) {
    const std::byte* row = elementAt(x, (o * u.units + first) * u.inner);
    if (u.inner == 1) {
      countActive(x.dtype(), row, last - first, active + first);
      continue;
    }
    for (std::int64_t c = first; c < last; ++c)
      active[c] +=
          blockActivation(x.dtype(), elementAt(x, (o * u.units + c) * u.inner), u.inner, 0, 0).active;
  }
}

double shareDead(const Tensor& x, int threads) {
  const Units u = unitsOf(x);
  const std::int64_t size = u.outer * u.inner;
  if (size == 0 || u.units == 0) return 0;
  std::vector<std::int64_t> active(static_cast<std::size_t>(u.units), 0);
  const std::int64_t parts = std::min<std::int64_t>(std::max(threads, 1), u.units);
#pragma omp parallel for schedule(static) num_threads(static_cast <int>(parts)) if (parts > 1)
  for (std::int64_t i = 0; i < parts; ++i)
    countUnits(x, u, u.units * i / parts, u.units * (i + 1) / parts, active.data());
  const auto dead =
      std::count_if(active.begin(), active.end(), [&](std::int64_t n) { return n * 100 < size; });
  return static_cast<double>(dead) / static_cast<double>(u.units);
}

}  // namespace

TensorStatistics computeStatistics(const Tensor& tensor, int threads) {
  std::vector<Hash128> hashes(blockCount(tensor));
  const auto blocks = overBlocks<BlockMoments>(tensor, threads, [&](std::int64_t i, Block block) {
    hashes[static_cast<std::size_t>(i)] = hashBlock({block.data, block.bytes});
    return blockMoments(tensor.dtype(), block.data, block.count);
  });
  const BlockMoments m = combined(blocks);
  TensorStatistics s;
  s.count = tensor.elements();
  s.nan = m.nan;
  s.posInf = m.posInf;
  s.negInf = m.negInf;
  s.zero = m.zero;
  s.negative = m.negative;
  s.positive = m.finite - m.zero - m.negative;
  fillMoments(m, s);
  s.hash = hashOfBlocks(hashes);
  return s;
}

ChangeStatistics computeChange(const Tensor& x, const Tensor& p, int threads) {
  assert(x.dtype() == p.dtype() && x.elements() == p.elements());
  const auto blocks = overBlocks<BlockChange>(x, threads, [&](std::int64_t, Block block) {
    return blockChange(x.dtype(), block.data, elementAt(p, block.first), block.count, kChangeRtol,
                       kChangeAtol);
  });
  ChangeStatistics s;
  for (const BlockChange& block : blocks) {
    s.meanAbsChange += block.sumAbsChange;
    s.meanAbsPrevious += block.sumAbsPrevious;
    s.maxAbsChange = std::max(s.maxAbsChange, block.maxAbsChange);
    s.outsideTolerance += block.outside;
    s.skipped += block.skipped;
  }
  const auto n = static_cast<double>(std::max<std::int64_t>(1, x.elements() - s.skipped));
  s.meanAbsChange /= n;
  s.meanAbsPrevious /= n;
  return s;
}

ActivationStatistics computeActivation(const Tensor& x, double rangeStart, double rangeEnd, int threads) {
  const auto blocks = overBlocks<BlockActivation>(x, threads, [&](std::int64_t, Block block) {
    return blockActivation(x.dtype(), block.data, block.count, rangeStart, rangeEnd);
  });
  std::int64_t inRange = 0;
  for (const BlockActivation& block : blocks) inRange += block.inRange;
  ActivationStatistics s;
  if (x.elements() > 0) s.shareInRange = static_cast<double>(inRange) / static_cast<double>(x.elements());
  s.shareDeadUnits = shareDead(x, threads);
  return s;
}

}  // namespace msdbg::core
