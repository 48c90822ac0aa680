// On a device, what an iteration queues is the same again and again: it is queued once and then done as one
// (a CUDA graph). Parameters and states that change places make several such sequences, by where they lie.
// Used from the executor's thread.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core_engine/runtime/compiled_steps.h"

namespace msdbg::core {

class IterationSequences {
 public:
  IterationSequences() = default;
  /// Whether all kernels of these steps repeat themselves.
  IterationSequences(const Graph& graph, const CompiledSteps& compiled, PlanMemory& memory);

  /// An iteration was queued kernel by kernel: what is computed or allocated once is there.
  void warmedUp() { m_warm = true; }
  bool ready() const;
  /// Queues the kept sequence; where there is none for these places, keeps what `queue` queues first. False:
  /// it cannot, and nothing was queued. Who is `observed` computes more.
  template <typename Queue>
  Result<bool> run(bool observed, const Queue& queue) {
    const std::pair places(observed, placesNow());
    const auto found = m_kept.find(places);
    if (found != m_kept.end()) return found->second->run(), true;
    m_memory->device->beginSequence();
    const Status queued = queue();
    auto sequence = m_memory->device->endSequence();
    MSDBG_TRY(queued);
    m_possible = sequence != nullptr;
    if (!m_possible) return false;
    sequence->run();
    m_kept[places] = std::move(sequence);
    return true;
  }

 private:
  using Places = std::vector<const std::byte*>;
  Places placesNow() const;

  const CompiledSteps* m_compiled = nullptr;
  PlanMemory* m_memory = nullptr;
  std::vector<TensorId> m_moving;  // tensors that change places
  bool m_possible = false, m_warm = false;
  std::map<std::pair<bool, Places>, std::unique_ptr<DeviceSequence>> m_kept;
};

}  // namespace msdbg::core
