// What lies between an executor whose tensors are on a device and its observer: what was wished for of each
// value is taken there or brought from there. Statistics are queued with the kernels and handed over later,
// all at once, in their order: asking for each would make the device wait for the host. Used from the
// executor's thread.
#pragma once

#include <optional>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/runtime/host_view.h"

namespace msdbg::core {

class DeviceObserver {
 public:
  DeviceObserver() = default;
  /// `takesTurns`: a value's place may be another's soon; else all stay up to the end of the iteration.
  DeviceObserver(DeviceMemory& device, HostView& host, const Graph& graph, bool takesTurns)
      : m_device(&device),
        m_host(&host),
        m_graph(&graph),
        m_takesTurns(takesTurns),
        m_last(graph.tensors().size()) {}

  /// Before the kernels of an iteration; `observer` is used until it has ended.
  void start(Iteration iteration, Observer& observer);
  /// Whether something is wished for of a source that has to be taken from its bytes: not known from another.
  bool mustSee(TensorId source, TensorId sameAs) const;
  /// A tensor has its value. Where only statistics are wished for, the observer is told by the next flush(),
  /// and its value is the device's.
  Status show(const TensorReady& ready);
  /// Hands over what waits, up to the node `end` where one is given: the rest is of no use.
  Status flush(NodeId end = {});

 private:
  struct Waiting {
    Iteration iteration;
    TensorId tensor;
    Tensor value;
    TensorId sameAs;
    std::optional<std::size_t> taken;  // its number; none: what was last seen of `sameAs`
  };
  void wait(const TensorReady& ready, std::optional<std::size_t> taken);
  bool isKnown(const TensorReady& ready, const ValueWish& wish) const;
  Status bring(TensorReady ready);

  DeviceMemory* m_device = nullptr;
  HostView* m_host = nullptr;
  const Graph* m_graph = nullptr;
  bool m_takesTurns = true;
  Observer* m_observer = nullptr;
  std::vector<ValueWish> m_wishes;                       // by TensorId
  std::vector<std::optional<TensorObservation>> m_last;  // likewise
  std::vector<bool> m_willBeSeen;                        // likewise: queued, or seen, in this iteration
  std::vector<Waiting> m_waiting;
};

}  // namespace msdbg::core
