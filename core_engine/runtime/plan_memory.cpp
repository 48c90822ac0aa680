#include "core_engine/runtime/plan_memory.h"

#include <algorithm>
#include <cmath>

#include "core_engine/runtime/philox.h"

namespace msdbg::core {
namespace {

void fillNormal(Tensor& tensor, const std::string& name, std::uint64_t seed, double deviation) {
  const RandomStream stream(seed, name, -1);
  visitFloating(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> data = tensor.data<T>();
    const std::int64_t n = tensor.elements();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      data[static_cast<std::size_t>(i)] =
          static_cast<T>(deviation * stream.normal(static_cast<std::uint64_t>(i)));
  });
}

void initialise(Tensor& tensor, const TensorInfo& info, std::uint64_t seed) {
  switch (info.initializer.kind) {
    case Initializer::Kind::kNone:
    case Initializer::Kind::kZeros:
      return;  // memory starts as zeros
    case Initializer::Kind::kConstant:
      return fillConstant(tensor, info.initializer.value);
    case Initializer::Kind::kKaimingNormal:
      return fillNormal(tensor, info.name, seed, std::sqrt(2.0 / info.initializer.value));
  }
}

class Allocation {
 public:
  Allocation(const Graph& graph, const Plan& plan, std::uint64_t seed, PlanMemory& memory)
      : m_graph(graph), m_plan(plan), m_seed(seed), m_memory(memory) {
    memory.buffers.resize(plan.buffers.size());
    for (std::size_t i = 0; i < plan.buffers.size(); ++i)
      if (!plan.buffers[i].observed) memory.fillBuffer(i, plan.buffers[i]);
    memory.tensors.resize(graph.tensors().size());
    memory.second.resize(graph.tensors().size());
    memory.lasting.resize(graph.tensors().size());
  }

  void run() {
    for (const TensorInfo& info : m_graph.tensors()) {
      const TensorId root = m_plan.rootOf(m_graph, info.id);
      Tensor& storage = m_memory.tensors[root.index()];
      if (!storage.valid()) storage = rootMemory(m_graph.tensor(root));
      if (root != info.id && storage.valid())
        m_memory.tensors[info.id.index()] = storage.reshaped(info.shape);
      m_memory.lasting[info.id.index()] = lasts(root);
      const std::int64_t again = m_plan.secondBufferOf[info.id.index()];
      if (again != Plan::kOwnMemory) m_memory.second[info.id.index()] = inBuffer(info, again);
    }
  }

 private:
  Tensor rootMemory(const TensorInfo& info) {
    const std::int64_t buffer = m_plan.bufferOf[info.id.index()];
    if (buffer != Plan::kOwnMemory) return inBuffer(info, buffer);
    Tensor tensor = Tensor::zeros(info.dtype, info.shape);
    if (info.isSource()) initialise(tensor, info, m_seed);
    m_memory.bytes += tensor.bytes();
    return tensor;
  }

  Tensor inBuffer(const TensorInfo& info, std::int64_t buffer) const {
    const Tensor& memory = m_memory.buffers[static_cast<std::size_t>(buffer)];
    return memory.valid() ? memory.reshaped(info.shape) : memory;
  }

  bool lasts(TensorId root) const {
    const TensorInfo& info = m_graph.tensor(root);
    if (m_plan.layouts[root.index()] != Layout::kRowMajor) return false;
    return info.isSource() ||
           (m_plan.bufferOf[root.index()] == Plan::kOwnMemory &&
            m_plan.steps[info.producer.index()].how != How::kWatched && !m_plan.isInside(m_graph, root));
  }

  const Graph& m_graph;
  const Plan& m_plan;
  std::uint64_t m_seed;
  PlanMemory& m_memory;
};

}  // namespace

void fillConstant(Tensor& tensor, double value) {
  visitDType(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::ranges::fill(tensor.data<T>(), static_cast<T>(value));
  });
}

void PlanMemory::fillBuffer(std::size_t index, const PlanBuffer& buffer) {
  buffers[index] = Tensor::zeros(buffer.dtype, {buffer.elements});
  bytes += buffers[index].bytes();
}

void PlanMemory::allocateObserved(const Graph& graph, const Plan& plan) {
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (!buffers[i].valid()) fillBuffer(i, plan.buffers[i]);
  for (const TensorInfo& info : graph.tensors()) {  // views too
    const std::int64_t buffer = plan.bufferOf[plan.rootOf(graph, info.id).index()];
    if (buffer != Plan::kOwnMemory && !tensors[info.id.index()].valid())
      tensors[info.id.index()] = buffers[static_cast<std::size_t>(buffer)].reshaped(info.shape);
  }
}

PlanMemory PlanMemory::allocate(const Graph& graph, const Plan& plan, std::uint64_t seed) {
  PlanMemory memory;
  Allocation(graph, plan, seed, memory).run();
  return memory;
}

}  // namespace msdbg::core
