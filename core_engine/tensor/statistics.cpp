#include "core_engine/tensor/statistics.h"

#include <omp.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "core_engine/tensor/block_statistics.h"
#include "core_engine/tensor/combine_moments.h"
#include "core_engine/tensor/float_blocks_internal.h"
#include "core_engine/tensor/observation_parts.h"

namespace msdbg::core {
namespace {

// Fewer blocks take less time (4 us each) than waking the team.
constexpr std::int64_t kParallelBlocks = 4;
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

/// Runs f(index, Block) for every block, in parallel, and something else on the caller's thread first. The
/// others begin with what they have likely computed themselves.
template <typename F>
void overBlocksAlongside(const Tensor& tensor, int threads, const std::function<void()>& alongside, F&& f) {
  const auto blocks = static_cast<std::int64_t>(blockCount(tensor)), first = blocks / std::max(threads, 1);
#pragma omp parallel num_threads(std::max(threads, 1)) if (threads > 1 && blocks >= kParallelBlocks)
  {
#pragma omp master
    alongside();
#pragma omp for schedule(dynamic)
    for (std::int64_t k = 0; k < blocks; ++k) {
      const std::int64_t i = (k + first) % blocks;
      f(static_cast<std::size_t>(i), blockAt(tensor, i));
    }
  }
}

/// Runs f(index, Block) for every block, in parallel.
template <typename F>
void overBlocks(const Tensor& tensor, int threads, F&& f) {
  const auto blocks = static_cast<std::int64_t>(blockCount(tensor));
#pragma omp parallel for schedule(static) \
    num_threads(std::max(threads, 1)) if (threads > 1 && blocks >= kParallelBlocks)
  for (std::int64_t i = 0; i < blocks; ++i) f(static_cast<std::size_t>(i), blockAt(tensor, i));
}

BlockMoments combined(const std::vector<BlockMoments>& blocks) {
  BlockMoments total = noMoments();
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

// Counts the active elements of each unit, a block at a time, every thread of the team for itself; sums of
// integers do not depend on their order.
class UnitCounts {
 public:
  UnitCounts(const Tensor& x, int threads) : m_x(x), m_units(unitsOf(x.shape())) {
    m_active.resize(static_cast<std::size_t>(std::max(threads, 1)));
    for (auto& active : m_active) active.resize(static_cast<std::size_t>(m_units.units), 0);
  }

  /// Returns the elements of the block that are in the range.
  std::int64_t add(const Block& block, double start, double end) {
    return m_units.inner == 1 ? addRows(block, start, end) : addRuns(block, start, end);
  }

  const TensorUnits& shape() const { return m_units; }
  std::int64_t dead() const {
    std::vector<std::int64_t> all(m_active[0].size(), 0);
    for (const auto& active : m_active)
      std::ranges::transform(all, active, all.begin(), std::plus<std::int64_t>());
    return std::ranges::count_if(all,
                                 [&](std::int64_t n) { return isDeadUnit(n, m_units.elementsOfUnit()); });
  }

 private:
  // Units whose elements lie together.
  std::int64_t addRuns(const Block& block, double start, double end) {
    std::vector<std::int64_t>& active = mine();
    UnitRuns runs{m_units.inner, m_units.units, block.first / m_units.inner % m_units.units,
                  m_units.inner - block.first % m_units.inner};
    if (m_x.dtype() == DType::Float32)
      return floatUnits(reinterpret_cast<const float*>(block.data), block.count, start, end, runs,
                        active.data());
    std::int64_t inRange = 0;
    for (std::int64_t at = block.first, last = block.first + block.count; at < last;) {
      const std::int64_t count = std::min(runs.left, last - at);
      const BlockActivation a = blockActivation(m_x.dtype(), elementAt(m_x, at), count, start, end);
      inRange += a.inRange;
      active[static_cast<std::size_t>(runs.unit)] += a.active;
      runs.unit = runs.unit + 1 == runs.units ? 0 : runs.unit + 1;
      at += std::exchange(runs.left, runs.inner);
    }
    return inRange;
  }

  // Units of which every row has one element.
  std::int64_t addRows(const Block& block, double start, double end) {
    std::vector<std::int64_t>& active = mine();
    for (std::int64_t at = block.first, last = block.first + block.count; at < last;) {
      const std::int64_t unit = at % m_units.units, count = std::min(m_units.units - unit, last - at);
      countActive(m_x.dtype(), elementAt(m_x, at), count, &active[static_cast<std::size_t>(unit)]);
      at += count;
    }
    return blockActivation(m_x.dtype(), block.data, block.count, start, end).inRange;
  }

  std::vector<std::int64_t>& mine() { return m_active[static_cast<std::size_t>(omp_get_thread_num())]; }

  const Tensor& m_x;
  TensorUnits m_units;
  std::vector<std::vector<std::int64_t>> m_active;  // by thread, then by unit
};

BlockChange totalOf(const std::vector<BlockChange>& blocks) {
  BlockChange total;
  for (const BlockChange& block : blocks) {
    total.sumAbsChange += block.sumAbsChange;
    total.sumAbsPrevious += block.sumAbsPrevious;
    total.maxAbsChange = std::max(total.maxAbsChange, block.maxAbsChange);
    total.outside += block.outside;
    total.skipped += block.skipped;
  }
  return total;
}

ActivationStatistics activationOf(const std::vector<std::int64_t>& inRange, const UnitCounts& units,
                                  std::int64_t count) {
  return activationFrom(std::accumulate(inRange.begin(), inRange.end(), std::int64_t{0}), units.dead(),
                        units.shape(), count);
}

BlockChange changeOf(const Tensor& x, const void* previous, const Block& block) {
  return blockChange(x.dtype(), block.data, previous, block.count, kChangeRtol, kChangeAtol);
}

bool isExpected(const Tensor& tensor, const TensorStatistics& expected, int threads,
                std::vector<Hash128>& blocks) {
  if (expected.count <= 0 || expected.count != tensor.elements()) return false;  // or only its hash is known
  overBlocks(tensor, threads, [&](std::size_t i, const Block& block) {
    blocks[i] = hashBlock({block.data, block.bytes});
  });
  return hashOfBlocks(blocks) == expected.hash;
}

}  // namespace

TensorUnits unitsOf(const Shape& shape) {
  if (shape.rank() < 2) return {1, 1, shape.elements()};
  return {shape[0], shape[1], shape[0] * shape[1] == 0 ? 0 : shape.elements() / (shape[0] * shape[1])};
}

TensorStatistics statisticsFrom(const BlockMoments& combined, std::int64_t count) {
  TensorStatistics s;
  s.count = count;
  s.nan = combined.nan;
  s.posInf = combined.posInf;
  s.negInf = combined.negInf;
  s.zero = combined.zero;
  s.negative = combined.negative;
  s.positive = combined.finite - combined.zero - combined.negative;
  fillMoments(combined, s);
  return s;
}

ChangeStatistics changeFrom(const BlockChange& total, std::int64_t count) {
  const auto n = static_cast<double>(std::max<std::int64_t>(1, count - total.skipped));
  return {total.sumAbsChange / n, total.maxAbsChange, total.sumAbsPrevious / n, total.outside, total.skipped};
}

ActivationStatistics activationFrom(std::int64_t inRange, std::int64_t deadUnits, const TensorUnits& units,
                                    std::int64_t count) {
  ActivationStatistics s;
  if (count > 0) s.shareInRange = static_cast<double>(inRange) / static_cast<double>(count);
  if (units.elementsOfUnit() > 0 && units.units > 0)
    s.shareDeadUnits = static_cast<double>(deadUnits) / static_cast<double>(units.units);
  return s;
}

TensorObservation observeTensor(const Tensor& tensor, const ObservationWish& wish, int threads) {
  const std::size_t blocks = blockCount(tensor);
  TensorObservation result;
  result.blocks.resize(blocks);
  if (wish.expected && !wish.previous && !wish.range &&
      isExpected(tensor, *wish.expected, threads, result.blocks)) {
    result.values = *wish.expected;
    return result;
  }
  std::vector<BlockMoments> moments(blocks);
  std::vector<BlockChange> change(wish.previous ? blocks : 0);
  std::vector<std::int64_t> inRange(wish.range ? blocks : 0);
  std::optional<UnitCounts> units;
  if (wish.range) units.emplace(tensor, threads);
  assert(!wish.previous ||
         (tensor.dtype() == wish.previous->dtype() && tensor.elements() == wish.previous->elements()));
  const auto observe = [&](std::size_t i, const Block& block) {
    result.blocks[i] = hashBlock({block.data, block.bytes});
    const void* behind = i + 1 < blocks ? block.data + kBlockBytes : nullptr;
    const void* next = wish.previous ? elementAt(*wish.previous, block.first) : behind;
    moments[i] = blockMoments(tensor.dtype(), block.data, block.count, next);
    if (wish.previous) change[i] = changeOf(tensor, elementAt(*wish.previous, block.first), block);
    if (wish.range) inRange[i] = units->add(block, wish.range->first, wish.range->second);
  };
  if (wish.alongside)
    overBlocksAlongside(tensor, threads, wish.alongside, observe);
  else
    overBlocks(tensor, threads, observe);
  result.values = statisticsFrom(combined(moments), tensor.elements());
  result.values.hash = hashOfBlocks(result.blocks);
  if (wish.previous) result.change = changeFrom(totalOf(change), tensor.elements());
  if (wish.range) result.activation = activationOf(inRange, *units, tensor.elements());
  return result;
}

BlockwiseObservation::BlockwiseObservation(const Tensor& tensor)
    : m_tensor(&tensor),
      m_hashes(blockCount(tensor)),
      m_moments(m_hashes.size()),
      m_changes(m_hashes.size()) {}

void BlockwiseObservation::add(std::size_t i, const void* previous) {
  const Block block = blockAt(*m_tensor, static_cast<std::int64_t>(i));
  m_hashes[i] = hashBlock({block.data, block.bytes});
  const void* next = i + 1 < m_hashes.size() ? block.data + kBlockBytes : nullptr;
  m_moments[i] = blockMoments(m_tensor->dtype(), block.data, block.count, next);
  m_changes[i] = blockChange(m_tensor->dtype(), block.data, previous, block.count, kChangeRtol, kChangeAtol);
}

TensorObservation BlockwiseObservation::finish() {
  TensorObservation result;
  result.values = statisticsFrom(combined(m_moments), m_tensor->elements());
  result.values.hash = hashOfBlocks(m_hashes);
  result.change = changeFrom(totalOf(m_changes), m_tensor->elements());
  result.blocks = std::move(m_hashes);
  return result;
}

TensorStatistics computeStatistics(const Tensor& tensor, int threads) {
  return observeTensor(tensor, {}, threads).values;
}

ChangeStatistics computeChange(const Tensor& x, const Tensor& p, int threads) {
  assert(x.dtype() == p.dtype() && x.elements() == p.elements());
  std::vector<BlockChange> blocks(blockCount(x));
  overBlocks(x, threads, [&](std::size_t i, const Block& block) {
    blocks[i] = changeOf(x, elementAt(p, block.first), block);
  });
  return changeFrom(totalOf(blocks), x.elements());
}

ActivationStatistics computeActivation(const Tensor& x, double rangeStart, double rangeEnd, int threads) {
  UnitCounts units(x, threads);
  std::vector<std::int64_t> inRange(blockCount(x));
  overBlocks(x, threads,
             [&](std::size_t i, const Block& block) { inRange[i] = units.add(block, rangeStart, rangeEnd); });
  return activationOf(inRange, units, x.elements());
}

}  // namespace msdbg::core
