#include "core_engine/runtime/device_observer.h"

#include "core_engine/graph/roles.h"

namespace msdbg::core {

void DeviceObserver::start(Iteration iteration, Observer& observer) {
  m_observer = &observer;
  m_waiting.clear();
  m_wishes.clear();
  m_willBeSeen.assign(m_graph->tensors().size(), false);
  for (const TensorInfo& info : m_graph->tensors())
    m_wishes.push_back(observer.valueWish(iteration, info.id));
}

/// What has the bytes of another is not looked at again.
bool DeviceObserver::isKnown(const TensorReady& ready, const ValueWish& wish) const {
  if (!ready.sameAs.valid() || wish.range || ready.previous) return false;
  return m_willBeSeen[ready.sameAs.index()] || m_last[ready.sameAs.index()];
}

void DeviceObserver::wait(const TensorReady& ready, std::optional<std::size_t> taken) {
  m_willBeSeen[ready.tensor.index()] = true;
  m_waiting.push_back({ready.iteration, ready.tensor, ready.value, ready.sameAs, taken});
}

bool DeviceObserver::mustSee(TensorId source, TensorId sameAs) const {
  const ValueWish& wish = m_wishes[source.index()];
  return wish.value || (wish.statistics && (!sameAs.valid() || wish.range || !m_last[sameAs.index()]));
}

Status DeviceObserver::show(const TensorReady& ready) {
  const ValueWish& wish = m_wishes[ready.tensor.index()];
  // What is fed, or not wished for: it says nothing of the values before it.
  if (ready.value.place() != Place::kDevice || (!wish.value && !wish.statistics))
    return m_observer->tensorReady(ready), Ok{};
  bool seen = wish.statistics && isKnown(ready, wish);
  std::optional<std::size_t> taken;
  if (wish.statistics && !seen) taken = m_device->observe(ready.value, {ready.previous, wish.range});
  // What is carried may be written over by its update.
  if (taken && (m_takesTurns || isCarried(m_graph->tensor(ready.tensor)))) m_device->startObserving();
  seen = seen || taken;
  if (seen) wait(ready, taken);
  if (seen && !wish.value) return Ok{};
  MSDBG_TRY(flush());
  return seen ? Status(Ok{}) : bring(ready);
}

/// The bytes, and nothing that the device took.
Status DeviceObserver::bring(TensorReady ready) {
  MSDBG_ASSIGN(const Tensor value, m_host->lend(HostView::Slot::kValue, ready.value));
  Tensor previous;
  if (ready.previous) {
    MSDBG_ASSIGN(previous, m_host->lend(HostView::Slot::kPrevious, *ready.previous));
    ready.previous = &previous;
  }
  m_observer->tensorReady({ready.iteration, ready.tensor, value, ready.previous, ready.sameAs, ready.update});
  return Ok{};
}

Status DeviceObserver::flush(NodeId end) {
  if (m_waiting.empty()) return Ok{};
  const std::vector<Waiting> waiting = std::exchange(m_waiting, {});
  MSDBG_ASSIGN(std::vector<TensorObservation> taken, m_device->observed());
  for (const Waiting& each : waiting) {
    std::optional<TensorObservation>& seen = m_last[each.tensor.index()];
    if (each.taken) {
      seen = std::move(taken[*each.taken]);
    } else {
      seen = m_last[each.sameAs.index()];
      seen->change.reset();
      seen->activation.reset();
    }
    const NodeId producer = m_graph->tensor(each.tensor).producer;
    if (end.valid() && producer.valid() && producer >= end) break;
    Tensor value = each.value;
    if (m_wishes[each.tensor.index()].value) {  // the last that waited: it lies there still
      MSDBG_ASSIGN(value, m_host->lend(HostView::Slot::kValue, each.value));
    }
    m_observer->tensorReady({each.iteration, each.tensor, value, nullptr, each.sameAs, nullptr, &*seen});
  }
  return Ok{};
}

}  // namespace msdbg::core
