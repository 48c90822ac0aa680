#include "core_engine/runtime/iteration_sequences.h"

#include <algorithm>

namespace msdbg::core {
namespace {

bool repeats(const Step& step) {
  if (step.how == How::kOnce || step.how == How::kWatched || step.how == How::kGrouped) return true;
  if (step.kernel) return step.kernel->repeats();
  return !step.group || step.group->repeats();
}

}  // namespace

IterationSequences::IterationSequences(const Graph& graph, const CompiledSteps& compiled, PlanMemory& memory)
    : m_compiled(&compiled),
      m_memory(&memory),
      m_possible(memory.device && std::ranges::all_of(compiled.steps, repeats)) {
  for (const TensorInfo& info : graph.tensors())
    if (info.updateOf.valid()) m_moving.insert(m_moving.end(), {info.id, info.updateOf});
}

bool IterationSequences::ready() const {
  return m_possible && m_warm && std::ranges::all_of(m_compiled->steps, [](const Step& step) {
           return step.how != How::kOnce || step.done;
         });
}

IterationSequences::Places IterationSequences::placesNow() const {
  Places places;
  for (const TensorId id : m_moving) places.push_back(m_memory->tensors[id.index()].address());
  return places;
}

}  // namespace msdbg::core
