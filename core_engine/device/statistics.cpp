#include "core_engine/device/statistics.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "core_engine/device/device_context.h"
#include "core_engine/tensor/combine_moments.h"

namespace msdbg::core::device {
namespace {

constexpr std::size_t kAlignment = 256, kFew = 65536;  // bytes

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

std::int64_t blocksOf(const Tensor& tensor) {
  return (tensor.elements() + kStatisticsBlock - 1) / kStatisticsBlock;
}
/// One record of all and the hashes of the blocks.
std::size_t answerBytes(std::int64_t blocks) {
  return sizeof(StatisticsTotal) + static_cast<std::size_t>(blocks) * sizeof(Hash128);
}

bool hasOneUnit(const TensorUnits& units) { return units.units == 1; }  // it is the whole tensor
bool countsUnits(const StatisticsTensor& tensor) { return tensor.inRange && tensor.units > 1; }
/// Elements > 0 of the whole tensor.
std::int64_t activeOf(const StatisticsRecord& r) {
  return r.counts[kFinite] - r.counts[kZeros] - r.counts[kNegatives] + r.counts[kPosInfs];
}

/// Of a tensor without elements: as if it lay on the host.
TensorObservation observeNothing(const Tensor& value, const ObservationWish& wish) {
  const Tensor empty(value.dtype(), value.shape());
  return observeTensor(empty, {.previous = wish.previous ? &empty : nullptr, .range = wish.range});
}

/// But for where it lies among others.
StatisticsTensor tensorOf(const Tensor& value, const ObservationWish& wish) {
  const TensorUnits units = unitsOf(value.shape());
  StatisticsTensor t{};
  t.x = reinterpret_cast<const std::uint32_t*>(value.address());
  if (wish.previous) t.previous = reinterpret_cast<const std::uint32_t*>(wish.previous->address());
  t.count = value.elements(), t.blocks = blocksOf(value);
  t.units = units.units, t.inner = units.inner, t.elementsOfUnit = units.elementsOfUnit();
  if (wish.range)
    t.inRange = true, t.start = firstFloatFrom(wish.range->first), t.end = lastFloatUpTo(wish.range->second);
  return t;
}

}  // namespace

/// Of tensors that are taken at once, those without a previous value first: how many blocks they have, and
/// where things lie, in bytes. What goes to the device is the tensors and whose each block is; the work
/// memory has the records of the blocks and what is counted of units.
struct DeviceStatistics::Batch {
  explicit Batch(const std::vector<Waiting>& tensors) {
    std::int64_t units = 0;
    for (const auto& [tensor, answer] : tensors) {
      blocks += tensor.blocks;
      if (!tensor.previous) plainBlocks += tensor.blocks;
      if (countsUnits(tensor)) units += tensor.units;
    }
    owners = aligned(tensors.size() * sizeof(StatisticsTensor));
    input = owners + static_cast<std::size_t>(blocks) * sizeof(std::uint32_t);
    active = aligned(static_cast<std::size_t>(blocks) * sizeof(StatisticsRecord));
    activeBytes = static_cast<std::size_t>(units) * sizeof(std::int64_t);
  }
  std::int64_t blocks = 0, plainBlocks = 0;
  std::size_t owners = 0, input = 0;        // of what goes to the device
  std::size_t active = 0, activeBytes = 0;  // of the work memory
};

std::optional<std::size_t> DeviceContext::observe(const Tensor& value, const ObservationWish& wish) {
  if (!DeviceStatistics::takes(value, wish)) return {};
  return m_statistics.note(value, wish);
}
Result<std::vector<TensorObservation>> DeviceContext::observed() { return m_statistics.collect(); }

bool DeviceStatistics::takes(const Tensor& value, const ObservationWish& wish) {
  return isOfDevice(value) && (!wish.previous || isOfDevice(*wish.previous));
}

std::size_t DeviceStatistics::note(const Tensor& value, const ObservationWish& wish) {
  assert(takes(value, wish) && (!wish.previous || wish.previous->elements() == value.elements()));
  if (value.elements() == 0) {
    m_noted.emplace_back().known = observeNothing(value, wish);
    return m_noted.size() - 1;
  }
  m_noted.push_back({.known = {},
                     .elements = value.elements(),
                     .blocks = blocksOf(value),
                     .units = unitsOf(value.shape()),
                     .hasChange = wish.previous != nullptr,
                     .hasRange = wish.range.has_value(),
                     .answer = m_allAnswers});
  m_waiting.push_back({tensorOf(value, wish), m_allAnswers});
  m_allAnswers += answerBytes(blocksOf(value));
  return m_noted.size() - 1;
}

/// Memory is asked for before anything of the batch is queued: to give memory back waits for the device.
void DeviceStatistics::launch() {
  if (m_waiting.empty()) return;
  std::ranges::stable_partition(m_waiting, [](const Waiting& w) { return !w.tensor.previous; });
  const Batch batch(m_waiting);
  provide(m_input, batch.input);
  provide(m_work, batch.active + batch.activeBytes);
  provideAnswers();
  upload(batch);
  launchBlocks(batch);
  launchTotals();
  m_waiting.clear();
  m_launched = m_allAnswers;
}

void DeviceStatistics::provide(Tensor& memory, std::size_t bytes) {
  if (memory.valid() && memory.bytes() >= bytes) return;
  memory = {};  // first: there may be no place for both
  memory = m_context.zeros(DType::UInt8, {static_cast<std::int64_t>(std::max(bytes + bytes / 2, kFew))});
}

/// What was launched before has its answers there.
void DeviceStatistics::provideAnswers() {
  if (m_answers.valid() && m_answers.bytes() >= m_allAnswers) return;
  Tensor larger;
  provide(larger, m_allAnswers);
  if (m_launched > 0) m_context.device().copyWithin(larger.address(), m_answers.address(), m_launched);
  m_answers = std::move(larger);
}

/// The tensors, with their places in the batch, and after them whose each block is.
void DeviceStatistics::upload(const Batch& batch) {
  std::vector<std::byte> bytes(batch.input);
  auto* tensors = reinterpret_cast<StatisticsTensor*>(bytes.data());
  auto* owners = reinterpret_cast<std::uint32_t*>(bytes.data() + batch.owners);
  auto* active = reinterpret_cast<std::int64_t*>(m_work.address() + batch.active);
  std::int64_t block = 0;
  for (std::size_t i = 0; i < m_waiting.size(); ++i) {
    StatisticsTensor& tensor = tensors[i] = m_waiting[i].tensor;
    tensor.firstBlock = block;
    tensor.answer = reinterpret_cast<StatisticsTotal*>(m_answers.address() + m_waiting[i].answer);
    if (countsUnits(tensor)) tensor.active = std::exchange(active, active + tensor.units);
    std::fill_n(owners + block, tensor.blocks, static_cast<std::uint32_t>(i));
    block += tensor.blocks;
  }
  m_context.device().copyIn(m_input.address(), bytes.data(), bytes.size());
}

void DeviceStatistics::launchBlocks(const Batch& batch) {
  Device& device = m_context.device();
  if (batch.activeBytes > 0) device.fillZero(m_work.address() + batch.active, batch.activeBytes);
  StatisticsParameters p{};
  p.tensors = reinterpret_cast<const StatisticsTensor*>(m_input.address());
  p.tensorOfBlock = reinterpret_cast<const std::uint32_t*>(m_input.address() + batch.owners);
  p.records = reinterpret_cast<StatisticsRecord*>(m_work.address());
  p.rtol = kChangeRtol, p.atol = kChangeAtol;
  const auto launchSome = [&](const char* kernel, std::int64_t blocks) {
    if (blocks > 0)
      device.launch(device.kernel(kernel), {static_cast<std::uint32_t>(blocks), kStatisticsThreads}, &p,
                    sizeof p);
    p.firstBlock += blocks;
  };
  launchSome("statistics", batch.plainBlocks);
  launchSome("statistics_change", batch.blocks - batch.plainBlocks);
}

void DeviceStatistics::launchTotals() {
  Device& device = m_context.device();
  StatisticsTotalsParameters p{};
  p.tensors = reinterpret_cast<const StatisticsTensor*>(m_input.address());
  p.records = reinterpret_cast<const StatisticsRecord*>(m_work.address());
  device.launch(device.kernel("statistics_totals"),
                {static_cast<std::uint32_t>(m_waiting.size()), kTotalThreads}, &p, sizeof p);
}

Result<std::vector<TensorObservation>> DeviceStatistics::collect() {
  launch();
  std::vector<Noted> noted = std::exchange(m_noted, {});
  MSDBG_TRY(download());
  std::vector<TensorObservation> observations;
  for (Noted& each : noted) observations.push_back(observationOf(each));
  return observations;
}

Status DeviceStatistics::download() {
  const std::size_t all = std::exchange(m_allAnswers, 0);
  m_launched = 0;
  if (all == 0) return m_context.wait();
  if (!m_host.valid() || m_host.bytes() < all)
    m_host = m_context.pinned(DType::UInt8, {static_cast<std::int64_t>(m_answers.bytes())});
  m_context.device().copyOut(m_host.byteSpan().data(), m_answers.address(), all);
  return m_context.wait();
}

TensorObservation DeviceStatistics::observationOf(Noted& noted) const {
  if (noted.known) return std::move(*noted.known);
  StatisticsTotal total;
  const std::byte* answer = m_host.byteSpan().data() + noted.answer;
  std::memcpy(&total, answer, sizeof total);
  TensorObservation result;
  result.blocks.resize(static_cast<std::size_t>(noted.blocks));
  std::memcpy(result.blocks.data(), answer + sizeof total, answerBytes(noted.blocks) - sizeof total);
  const StatisticsRecord& record = total.record;
  result.values = statisticsFrom(momentsOf(record), noted.elements);
  result.values.hash = hashOfBlocks(result.blocks);
  if (noted.hasChange) result.change = changeFrom(changeOf(record), noted.elements);
  if (noted.hasRange) {
    const std::int64_t dead = hasOneUnit(noted.units)
                                  ? isDeadUnit(activeOf(record), noted.units.elementsOfUnit())
                                  : total.deadUnits;
    result.activation = activationFrom(record.counts[kInRange], dead, noted.units, noted.elements);
  }
  return result;
}

}  // namespace msdbg::core::device
