#include "core_engine/runtime/plan_memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core_engine/base/philox.h"
#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

/// Each element by its index alone: draw(index).
template <typename Draw>
void fillDrawn(Tensor& tensor, const Draw& draw) {
  visitFloating(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> data = tensor.data<T>();
    const std::int64_t n = tensor.elements();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      data[static_cast<std::size_t>(i)] = static_cast<T>(draw(static_cast<std::uint64_t>(i)));
  });
}

/// A normal number within two deviations: those beyond are drawn again, each time from a stream of its own.
double truncatedNormal(std::uint64_t seed, const std::string& name, std::uint64_t index) {
  for (std::int64_t attempt = -1;; --attempt)
    if (const double z = RandomStream(seed, name, attempt).normal(index); std::abs(z) <= 2) return z;
}

void initialise(Tensor& tensor, const TensorInfo& info, std::uint64_t seed) {
  const RandomStream stream(seed, info.name, -1);
  const double value = info.initializer.value;
  switch (info.initializer.kind) {
    case Initializer::Kind::kNone:
    case Initializer::Kind::kZeros:
      return;  // memory starts as zeros
    case Initializer::Kind::kConstant:
      return fillConstant(tensor, value);
    case Initializer::Kind::kKaimingNormal: {
      const double deviation = std::sqrt(2.0 / value);
      return fillDrawn(tensor, [&](std::uint64_t i) { return deviation * stream.normal(i); });
    }
    case Initializer::Kind::kUniform: {
      const double width = info.initializer.high - value;
      return fillDrawn(tensor, [&](std::uint64_t i) { return value + width * stream.uniform(i); });
    }
    case Initializer::Kind::kTruncatedNormal:
      return fillDrawn(tensor, [&](std::uint64_t i) { return value * truncatedNormal(seed, info.name, i); });
  }
}

std::string withLine(const Graph& graph, const TensorInfo& info) {
  const Frame* frame = graph.userFrame(info.isSource() ? info.frames : graph.node(info.producer).frames);
  return info.fullName() + (frame ? " (" + frame->file + ":" + std::to_string(frame->line) + ")" : "");
}

Tensor zeros(DeviceMemory* device, DType dtype, const Shape& shape) {
  return device ? device->zeros(dtype, shape) : Tensor::zeros(dtype, shape);
}

Tensor zerosFor(const Graph& graph, const TensorInfo& info, DeviceMemory* device) try {
  return zeros(device, info.dtype, info.shape);
} catch (const OutOfMemory& failure) {
  throw OutOfMemory(withLine(graph, info) + ": " + failure.what());
}

std::size_t bytesOf(const TensorInfo& info) {
  return static_cast<std::size_t>(info.shape.elements()) * dtypeSize(info.dtype);
}

/// Of those that begin in bytes [from, to) of the shared memory, the one most worth making smaller.
const TensorInfo* largestBetween(const Graph& graph, const Plan& plan, std::int64_t from, std::int64_t to) {
  const TensorInfo* largest = nullptr;
  for (const TensorInfo& info : graph.tensors()) {
    const std::int64_t place = plan.placeOf[info.id.index()];
    if (place < from || place >= to) continue;
    if (!largest || bytesOf(info) > bytesOf(*largest)) largest = &info;
  }
  return largest;
}

/// What several tensors share: bytes [from, from + size) of the plan's.
Tensor blockFor(const Graph& graph, const Plan& plan, std::int64_t from, std::int64_t size,
                DeviceMemory* device) try {
  return zeros(device, DType::UInt8, {size});
} catch (const OutOfMemory&) {
  const TensorInfo* largest = largestBetween(graph, plan, from, from + size);
  throw OutOfMemory("no memory for what is computed in an iteration, " +
                    formatBytes(static_cast<std::uint64_t>(size)) +
                    (largest ? "; the largest of it is " + withLine(graph, *largest) + ", " +
                                   std::string(dtypeName(largest->dtype)) + largest->shape.text() + ", " +
                                   formatBytes(bytesOf(*largest))
                             : "") +
                    "; make the model or its batch smaller");
}

class Allocation {
 public:
  Allocation(const Graph& graph, const Plan& plan, std::uint64_t seed, PlanMemory& memory)
      : m_graph(graph), m_plan(plan), m_seed(seed), m_memory(memory) {
    memory.shared = blockFor(graph, plan, 0, plan.shared.bytes, memory.device);
    memory.bytes += memory.shared.bytes();
    memory.tensors.resize(graph.tensors().size());
    memory.apart.resize(graph.tensors().size());
    memory.second.resize(graph.tensors().size());
    memory.lasting.resize(graph.tensors().size());
  }

  void run() {
    for (const TensorInfo& info : m_graph.tensors()) {
      m_memory.lasting[info.id.index()] = lasts(m_plan.rootOf(m_graph, info.id));
      if (m_plan.inPlace[info.id.index()]) continue;
      const auto [root, start] = m_plan.regionOf(m_graph, info.id);
      Tensor& storage = m_memory.tensors[root.index()];
      if (!storage.valid()) storage = rootMemory(m_graph.tensor(root));
      if (root != info.id && storage.valid())
        m_memory.tensors[info.id.index()] = storage.part(start, info.shape);
      const std::int64_t again = m_plan.secondPlaceOf[info.id.index()];
      if (again != Plan::kOwnMemory)
        m_memory.second[info.id.index()] = m_memory.shared.viewAt(again, info.dtype, info.shape);
    }
  }

 private:
  Tensor rootMemory(const TensorInfo& info) {
    const std::int64_t place = m_plan.placeOf[info.id.index()];
    if (place != Plan::kOwnMemory)
      return place < m_plan.shared.bytes ? m_memory.shared.viewAt(place, info.dtype, info.shape) : Tensor();
    Tensor tensor = zerosFor(m_graph, info, m_memory.device);
    if (info.isSource()) initialiseSource(tensor, info);
    m_memory.bytes += tensor.bytes();
    return tensor;
  }

  void initialiseSource(Tensor& tensor, const TensorInfo& info) const {
    if (!m_memory.device) return initialise(tensor, info, m_seed);
    Tensor host = Tensor::zeros(info.dtype, info.shape);
    initialise(host, info, m_seed);
    m_memory.device->upload(host, tensor);
  }

  bool lasts(TensorId root) const {
    const TensorInfo& info = m_graph.tensor(root);
    if (m_plan.layouts[root.index()] != Layout::kRowMajor) return false;
    return info.isSource() ||
           (m_plan.placeOf[root.index()] == Plan::kOwnMemory &&
            m_plan.steps[info.producer.index()].how != How::kWatched && !m_plan.isInside(m_graph, root));
  }

  const Graph& m_graph;
  const Plan& m_plan;
  std::uint64_t m_seed;
  PlanMemory& m_memory;
};

}  // namespace

void fillConstant(Tensor& tensor, double value) {
  if (isRounded(tensor.dtype())) {
    const Tensor one = Tensor::scalar(value).cast(tensor.dtype());
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      std::ranges::copy(one.byteSpan(), tensor.part(i, Shape{}).byteSpan().begin());
    return;
  }
  visitComputed(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::ranges::fill(tensor.data<T>(), static_cast<T>(value));
  });
}

void PlanMemory::allocateObserved(const Graph& graph, const Plan& plan) {
  if (observed.valid() || plan.shared.observedBytes == 0) return;
  observed = blockFor(graph, plan, plan.shared.bytes, plan.shared.observedBytes, device);
  bytes += observed.bytes();
  for (const TensorInfo& info : graph.tensors()) {  // views too
    const auto [root, start] = plan.regionOf(graph, info.id);
    const std::int64_t place = plan.placeOf[root.index()] - plan.shared.bytes;
    if (place < 0) continue;
    const TensorInfo& whole = graph.tensor(root);
    tensors[info.id.index()] = observed.viewAt(place, whole.dtype, whole.shape).part(start, info.shape);
  }
}

void PlanMemory::replaceInPlace(const Graph& graph, const Plan& plan,
                                const std::function<bool(TensorId)>& wanted) {
  for (const TensorInfo& info : graph.tensors()) {
    if (!plan.inPlace[info.id.index()]) continue;
    Tensor &next = tensors[info.id.index()], &own = apart[info.id.index()];
    const Tensor& current = tensors[info.updateOf.index()];
    const bool watched = wanted(info.id), isApart = next.valid() && next.address() != current.address();
    if (watched && !isApart) {
      if (!own.valid()) bytes += current.bytes();
      next = own.valid() ? std::exchange(own, {}) : zerosFor(graph, info, device);
    } else if (!watched) {
      if (isApart) own = next;
      if (isApart || !next.valid()) next = current;
    }
  }
}

PlanMemory PlanMemory::allocate(const Graph& graph, const Plan& plan, std::uint64_t seed,
                                DeviceMemory* device) {
  PlanMemory memory;
  memory.device = device;
  Allocation(graph, plan, seed, memory).run();
  return memory;
}

}  // namespace msdbg::core
