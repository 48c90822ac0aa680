#include "core_engine/device/statistics.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "core_engine/device/device_context.h"
#include "core_engine/tensor/combine_moments.h"

namespace msdbg::core::device {
namespace {

constexpr std::uint32_t kDeadUnitThreads = 256;
constexpr std::int64_t kUnitThreads = 16384;  // enough for a device, few enough to add up what they count
constexpr std::size_t kAlignment = 256, kFewAnswers = 65536;  // bytes

static_assert(kStatisticsBlock * sizeof(float) == kBlockBytes);
static_assert(sizeof(StatisticsTotal) % sizeof(Hash128) == 0 && sizeof(Hash128) == 2 * sizeof(std::uint64_t));

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

std::int64_t piecesOf(const TensorUnits& units) { return (units.inner + kUnitPiece - 1) / kUnitPiece; }

/// One record of all and the hashes of the blocks.
std::size_t answerBytes(std::int64_t blocks) {
  return sizeof(StatisticsTotal) + static_cast<std::size_t>(blocks) * sizeof(Hash128);
}

bool hasOneUnit(const TensorUnits& units) { return units.units == 1; }  // it is the whole tensor
/// Elements > 0 of the whole tensor.
std::int64_t activeOf(const StatisticsRecord& r) {
  return r.counts[kFinite] - r.counts[kZeros] - r.counts[kNegatives] + r.counts[kPosInfs];
}

/// Of a tensor without elements: as if it lay on the host.
TensorObservation observeNothing(const Tensor& value, const ObservationWish& wish) {
  const Tensor empty(value.dtype(), value.shape());
  return observeTensor(empty, {.previous = wish.previous ? &empty : nullptr, .range = wish.range});
}

}  // namespace

/// Where things lie in the work memory, in bytes: the records of two parts, one being written while the other
/// is added up; then, where units are counted, the bits of one part and the counts.
struct DeviceStatistics::Layout {
  Layout(const Tensor& value, bool hasRange, std::int64_t mostAtOnce)
      : units(unitsOf(value.shape())),
        blocks((value.elements() + kStatisticsBlock - 1) / kStatisticsBlock),
        blocksAtOnce(std::min(blocks, mostAtOnce)) {
    const auto atOnce = static_cast<std::size_t>(blocksAtOnce);
    positive = end = aligned(2 * atOnce * sizeof(StatisticsRecord));
    if (!hasRange || hasOneUnit(units)) return;
    slices = std::clamp<std::int64_t>(kUnitThreads / units.units, 1, units.outer * piecesOf(units));
    active = aligned(positive + atOnce * (kStatisticsBlock / 8));
    end = active + static_cast<std::size_t>(slices * units.units) * sizeof(std::int64_t);
  }
  bool countsUnits() const { return slices > 0; }
  std::size_t answer() const { return answerBytes(blocks); }

  TensorUnits units;
  std::int64_t blocks, blocksAtOnce, slices = 0;
  std::size_t positive = 0, active = 0, end = 0;
};

std::optional<std::size_t> DeviceContext::observe(const Tensor& value, const ObservationWish& wish) {
  if (!DeviceStatistics::takes(value, wish)) return {};
  return m_statistics.queue(value, wish);
}
Result<std::vector<TensorObservation>> DeviceContext::observed() { return m_statistics.collect(); }

bool DeviceStatistics::takes(const Tensor& value, const ObservationWish& wish) {
  return isOfDevice(value) && (!wish.previous || isOfDevice(*wish.previous));
}

std::size_t DeviceStatistics::queue(const Tensor& value, const ObservationWish& wish) {
  assert(takes(value, wish) && (!wish.previous || wish.previous->elements() == value.elements()));
  if (value.elements() == 0) {
    m_queued.emplace_back().known = observeNothing(value, wish);
    return m_queued.size() - 1;
  }
  const Layout layout(value, wish.range.has_value(), m_blocksAtOnce);
  provide(m_work, layout.end);
  std::byte* answer = placeForAnswer(layout.answer());
  launchParts(value, wish, layout, answer);
  if (layout.countsUnits()) countDead(layout, answer);
  m_queued.push_back({.known = {},
                      .elements = value.elements(),
                      .blocks = layout.blocks,
                      .units = layout.units,
                      .hasChange = wish.previous != nullptr,
                      .hasRange = wish.range.has_value(),
                      .answer = m_allAnswers - layout.answer()});
  return m_queued.size() - 1;
}

void DeviceStatistics::provide(Tensor& memory, std::size_t bytes) {
  if (memory.valid() && memory.bytes() >= bytes) return;
  memory = {};  // first: there may be no place for both
  memory = m_context.zeros(DType::UInt8, {static_cast<std::int64_t>(bytes)});
}

/// What is queued writes to the places that were given, so those stay where they are until collect().
std::byte* DeviceStatistics::placeForAnswer(std::size_t bytes) {
  if (m_answers.empty() || m_answers.back().used + bytes > m_answers.back().memory.bytes()) {
    m_answers.emplace_back();
    provide(m_answers.back().memory, std::max({bytes, m_allAnswers, kFewAnswers}));
  }
  Answers& last = m_answers.back();
  std::byte* place = last.memory.address() + last.used;
  last.used += bytes;
  m_allAnswers += bytes;
  return place;
}

void DeviceStatistics::launchParts(const Tensor& value, const ObservationWish& wish, const Layout& layout,
                                   std::byte* answer) {
  Device& device = m_context.device();
  const Device::Kernel kernel = device.kernel(wish.previous ? "statistics_change" : "statistics");
  StatisticsParameters p{};
  p.rtol = kChangeRtol, p.atol = kChangeAtol;
  if (wish.range) p.inRange = 1, p.start = wish.range->first, p.end = wish.range->second;
  p.total = &reinterpret_cast<StatisticsTotal*>(answer)->record;
  for (std::int64_t block = 0, part = 0; block < layout.blocks; block += layout.blocksAtOnce, ++part) {
    const std::int64_t blocks = std::min(layout.blocksAtOnce, layout.blocks - block),
                       first = block * kStatisticsBlock;
    p.x = reinterpret_cast<const std::uint32_t*>(value.address()) + first;
    if (wish.previous) p.previous = reinterpret_cast<const std::uint32_t*>(wish.previous->address()) + first;
    p.count = std::min(blocks * kStatisticsBlock, value.elements() - first);
    p.records = reinterpret_cast<StatisticsRecord*>(m_work.address()) + part % 2 * layout.blocksAtOnce;
    p.hashes = reinterpret_cast<std::uint64_t*>(answer + sizeof(StatisticsTotal)) + 2 * block;
    if (layout.countsUnits())
      p.positive = reinterpret_cast<std::uint16_t*>(m_work.address() + layout.positive);
    device.launch(kernel, {static_cast<std::uint32_t>(1 + blocks), kStatisticsThreads}, &p, sizeof p);
    if (layout.countsUnits()) countUnits(layout, first, p.count);
    p.before = p.records, p.beforeCount = blocks, p.begins = part == 0;
  }
  device.launch(kernel, {1, kStatisticsThreads}, &p, sizeof p);  // the last part is added up
}

void DeviceStatistics::countUnits(const Layout& layout, std::int64_t first, std::int64_t count) {
  UnitParameters p{};
  p.positive = reinterpret_cast<const std::uint64_t*>(m_work.address() + layout.positive);
  p.first = first, p.count = count;
  p.units = layout.units.units, p.inner = layout.units.inner;
  p.piecesOfRun = piecesOf(layout.units), p.slices = layout.slices;
  p.active = reinterpret_cast<std::int64_t*>(m_work.address() + layout.active);
  m_context.launch("unit_activity", p.units * p.slices, p);
}

void DeviceStatistics::countDead(const Layout& layout, std::byte* answer) {
  DeadUnitParameters p{};
  p.active = reinterpret_cast<const std::int64_t*>(m_work.address() + layout.active);
  p.units = layout.units.units, p.elementsOfUnit = layout.units.elementsOfUnit(), p.slices = layout.slices;
  p.dead = &reinterpret_cast<StatisticsTotal*>(answer)->deadUnits;
  Device& device = m_context.device();
  device.launch(device.kernel("dead_units"), {1, kDeadUnitThreads}, &p, sizeof p);
}

Result<std::vector<TensorObservation>> DeviceStatistics::collect() {
  std::vector<Queued> queued = std::exchange(m_queued, {});
  MSDBG_TRY(download());
  std::vector<TensorObservation> observations;
  for (Queued& each : queued) observations.push_back(observationOf(each));
  return observations;
}

Status DeviceStatistics::download() {
  const std::size_t all = std::exchange(m_allAnswers, 0);
  if (all == 0) return m_context.wait();
  if (!m_host.valid() || m_host.bytes() < all)
    m_host = m_context.pinned(DType::UInt8, {static_cast<std::int64_t>(all)});
  std::size_t at = 0;
  for (Answers& part : m_answers) {
    m_context.device().copyOut(m_host.byteSpan().data() + at, part.memory.address(), part.used);
    at += std::exchange(part.used, 0);
  }
  const Status done = m_context.wait();
  if (m_answers.size() > 1) {  // the next time in one place
    m_answers.clear();
    provide(m_answers.emplace_back().memory, all);
  }
  return done;
}

TensorObservation DeviceStatistics::observationOf(Queued& queued) const {
  if (queued.known) return std::move(*queued.known);
  StatisticsTotal total;
  const std::byte* answer = m_host.byteSpan().data() + queued.answer;
  std::memcpy(&total, answer, sizeof total);
  TensorObservation result;
  result.blocks.resize(static_cast<std::size_t>(queued.blocks));
  std::memcpy(result.blocks.data(), answer + sizeof total, answerBytes(queued.blocks) - sizeof total);
  const StatisticsRecord& record = total.record;
  result.values = statisticsFrom(momentsOf(record), queued.elements);
  result.values.hash = hashOfBlocks(result.blocks);
  if (queued.hasChange) result.change = changeFrom(changeOf(record), queued.elements);
  if (queued.hasRange) {
    const std::int64_t dead = hasOneUnit(queued.units)
                                  ? isDeadUnit(activeOf(record), queued.units.elementsOfUnit())
                                  : total.deadUnits;
    result.activation = activationFrom(record.counts[kInRange], dead, queued.units, queued.elements);
  }
  return result;
}

}  // namespace msdbg::core::device
