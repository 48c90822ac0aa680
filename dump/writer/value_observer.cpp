#include "dump/writer/value_observer.h"

#include <chrono>
#include <utility>

#include "dump/statistics_columns.h"

namespace msdbg::dump {

void ValueObserver::adopt(std::shared_ptr<const GraphPlan> plan) {
  m_plan = std::move(plan);
  m_updates.clear();
}

ValueObserver::Known ValueObserver::knownOf(const core::TensorReady& ready, bool isWritten) const {
  if (!ready.sameAs.valid()) return {};
  if (m_plan->graph.tensor(ready.sameAs).updateOf == ready.tensor)
    return {m_updates.find(ready.tensor), !isWritten};
  const std::shared_ptr<const IterationRecord> record = m_pending.current();
  const std::size_t same = ready.sameAs.index();
  if (!record || !record->seen[same]) return {};  // none: recording just failed
  if (core::isFlags(record->statistics[same].values)) return {};
  return {&record->statistics[same].values, !isWritten};
}

core::TensorObservation ValueObserver::take(const core::ObservedUpdate& update, core::DType dtype) {
  const auto took = std::chrono::duration<double>(update.seconds);
  m_clock.add(Stage::kStatistics, std::chrono::duration_cast<StageClock::Clock::duration>(took),
              static_cast<std::uint64_t>(update.seen.values.count) * core::dtypeSize(dtype));
  return update.seen;
}

core::TensorObservation ValueObserver::observe(const core::TensorReady& ready, const Known& known,
                                               std::function<void()> alongside) {
  core::ObservationWish wish{.previous = ready.previous, .range = {}, .alongside = std::move(alongside)};
  if (known.values && known.values->count >= 0) wish.expected = known.values;
  if (const auto& range = m_plan->activation[ready.tensor.index()]) wish.range = {range->start, range->end};
  core::TensorObservation seen;
  if (ready.observed) {
    seen = *ready.observed;
  } else if (ready.update) {
    seen = take(*ready.update, ready.value.dtype());
  } else if (wish.expected && known.certain && !ready.previous && !wish.range) {
    seen.values = *known.values;
    return seen;
  } else {
    const StageTimer timer(&m_clock, Stage::kStatistics, ready.value.bytes());
    seen = core::observeTensor(ready.value, wish, m_threads);
  }
  m_updates.add(m_plan->graph.tensor(ready.tensor).updateOf, seen.values);
  return seen;
}

core::TensorStatistics ValueObserver::flags(const core::TensorReady& ready, const Known& known) {
  if (ready.observed) return core::flagsFrom(ready.observed->values);
  if (known.values && known.certain && known.values->count >= 0) return core::flagsFrom(*known.values);
  const StageTimer timer(&m_clock, Stage::kStatistics, ready.value.bytes());
  return core::flagsOf(ready.value, m_threads);
}

core::Hash128 ValueObserver::hash(const core::TensorReady& ready, const Known& known) {
  if (known.values && known.certain) return known.values->hash;
  const StageTimer timer(&m_clock, Stage::kStatistics, ready.observed ? 0 : ready.value.bytes());
  const core::Hash128 hash =
      ready.observed ? ready.observed->values.hash : core::hashTensor(ready.value, m_threads);
  m_updates.add(m_plan->graph.tensor(ready.tensor).updateOf, hashOnly(hash).values);
  return hash;
}

}  // namespace msdbg::dump
