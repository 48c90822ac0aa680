#include "core_engine/device/statistics.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "core_engine/device/device_context.h"

namespace msdbg::core::device {
namespace {

constexpr std::uint32_t kStatisticsThreads = 192;  // 12 groups of 16: kernels/statistics.h
constexpr std::uint32_t kDeadUnitThreads = 256;
constexpr std::int64_t kUnitPiece = 512, kUnitThreads = 16384;
constexpr std::size_t kAlignment = 256;

static_assert(kStatisticsBlock * sizeof(float) == kBlockBytes);

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool isOfDevice(const Tensor& tensor) {
  return tensor.dtype() == DType::Float32 && (tensor.place() == Place::kDevice || tensor.elements() == 0);
}

BlockMoments momentsOf(const StatisticsRecord& r) {
  return {.finite = r.counts[kFinite],
          .nan = r.counts[kNaNs],
          .posInf = r.counts[kPosInfs],
          .negInf = r.counts[kNegInfs],
          .zero = r.counts[kZeros],
          .negative = r.counts[kNegatives],
          .min = -r.most[kMinusLeast],
          .max = r.most[kLargest],
          .sum = r.sums[kSum],
          .sumAbs = r.sums[kSumAbs],
          .sumSquares = r.sums[kSumSquares],
          .mean = r.mean,
          .squaredDeviations = r.squaredDeviations};
}
BlockChange changeOf(const StatisticsRecord& r) {
  return {r.counts[kSkipped], r.counts[kOutside], r.sums[kSumAbsChange], r.sums[kSumAbsPrevious],
          r.most[kLargestChange]};
}

/// As if it lay on the host.
TensorObservation observeNothing(const Tensor& value, ObservationWish wish) {
  const Tensor empty(value.dtype(), value.shape());
  if (wish.previous) wish.previous = &empty;
  return observeTensor(empty, {.previous = wish.previous, .range = wish.range});
}

}  // namespace

/// Bytes from the beginning of the memory.
struct DeviceStatistics::Layout {
  std::int64_t blocks = 0, blocksAtOnce = 0, slices = 0;  // slices: 0: units are not counted
  std::size_t records = 0, total = 0, hashes = 0, positive = 0, active = 0, end = 0;

  std::size_t answer() const { return sizeof(StatisticsTotal) + static_cast<std::size_t>(blocks) * sizeof(Hash128); }
};

bool DeviceStatistics::takes(const Tensor& value, const ObservationWish& wish) {
  return isOfDevice(value) && (!wish.previous || isOfDevice(*wish.previous));
}

void DeviceStatistics::prepare(const Layout& layout) {
  if (!m_memory.valid() || m_memory.bytes() < layout.end) {
    m_memory = {};  // released first: both may not fit
    m_memory = m_context.zeros(DType::UInt8, {static_cast<std::int64_t>(layout.end)});
  }
  if (!m_host.valid() || m_host.bytes() < layout.answer())
    m_host = m_context.pinned(DType::UInt8, {static_cast<std::int64_t>(layout.answer())});
}

void DeviceStatistics::launchUnits(const TensorUnits& units, const Layout& layout, std::int64_t first,
                                   std::int64_t count) {
  UnitParameters p{};
  p.positive = at<std::uint64_t>(layout.positive);
  p.first = first, p.count = count;
  p.units = units.units, p.inner = units.inner;
  p.piecesOfRun = piecesOf(units), p.slices = layout.slices;
  p.active = at<std::int64_t>(layout.active);
  m_context.launch("unit_activity", p.units * p.slices, p);
}

void DeviceStatistics::countDead(const TensorUnits& units, const Layout& layout) {
  DeadUnitParameters p{};
  p.active = at<std::int64_t>(layout.active);
  p.units = units.units, p.elementsOfUnit = units.elementsOfUnit(), p.slices = layout.slices;
  p.dead = &at<StatisticsTotal>(layout.total)->deadUnits;
  Device& device = m_context.device();
  device.launch(device.kernel("dead_units"), {1, kDeadUnitThreads}, &p, sizeof p);
}
}  // namespace msdbg::core::device
