#include "core_engine/device/device_context.h"

#include <algorithm>
#include <cassert>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"

namespace msdbg::core {

Result<Tensor> onHost(const Tensor& tensor, DeviceMemory& memory) {
  if (tensor.place() != Place::kDevice) return tensor;
  Tensor host(tensor.dtype(), tensor.shape());
  MSDBG_TRY(memory.download(tensor, host));
  return host;
}

namespace device {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::int64_t kMostBlocks = 4096;  // several times what a device runs at once
constexpr std::int64_t kAlarmsAtOnce = 256;

}  // namespace

DeviceContext::DeviceContext(std::shared_ptr<Device> device) : m_device(std::move(device)) {}
DeviceContext::~DeviceContext() = default;

Tensor DeviceContext::zeros(DType dtype, const Shape& shape) {
  const auto bytes = static_cast<std::size_t>(shape.elements()) * dtypeSize(dtype);
  void* memory = m_device->allocate(bytes);
  if (!memory)
    throw OutOfMemory(
        "no memory on " + m_device->facts().name + " for " + std::string(dtypeName(dtype)) + shape.text() +
        ", " + formatBytes(bytes) + ", of which " + formatBytes(m_device->freeBytes()) +
        " are free; make the model or its batch smaller, or keep fewer activations (--recompute)");
  m_device->fillZero(memory, bytes);
  const std::shared_ptr<std::byte[]> owned(static_cast<std::byte*>(memory),
                                           [device = m_device](std::byte* p) { device->release(p); });
  return Tensor::in(owned, Place::kDevice, dtype, shape);
}

Tensor DeviceContext::pinned(DType dtype, const Shape& shape) {
  const auto bytes = static_cast<std::size_t>(shape.elements()) * dtypeSize(dtype);
  void* memory = m_device->allocatePinned(bytes);
  if (!memory)
    throw OutOfMemory("no host memory that " + m_device->facts().name + " can copy to, for " +
                      formatBytes(bytes));
  const std::shared_ptr<std::byte[]> owned(static_cast<std::byte*>(memory),
                                           [device = m_device](std::byte* p) { device->releasePinned(p); });
  return Tensor::in(owned, Place::kPinned, dtype, shape);
}

void DeviceContext::upload(const Tensor& host, const Tensor& device) {
  assert(host.bytes() == device.bytes() && device.place() == Place::kDevice);
  m_device->copyIn(device.address(), host.raw(), host.bytes());
}

Status DeviceContext::download(const Tensor& device, Tensor& host) {
  assert(host.bytes() == device.bytes() && device.place() == Place::kDevice);
  m_device->copyOut(host.raw(), device.address(), host.bytes());
  return wait();
}

void DeviceContext::copy(const Tensor& from, const Tensor& to) {
  m_device->copyWithin(to.address(), from.address(), from.bytes());
}

Status DeviceContext::wait() {
  const std::string what = m_device->wait();
  return what.empty() ? Status(Ok{}) : Error(ErrorCode::kIo, what);
}

std::unique_ptr<DeviceSequence> DeviceContext::endSequence() {
  struct Kept : DeviceSequence {
    void run() override { sequence->run(); }
    std::unique_ptr<Sequence> sequence;
  };
  std::string why;
  auto kept = std::make_unique<Kept>();
  kept->sequence = m_device->endSequence(why);
  if (kept->sequence) return kept;
  logInfo(m_device->facts().name + ": kernels are queued one by one: " + why);
  return nullptr;
}

const std::int64_t* DeviceContext::iteration() {
  if (!m_iteration.valid()) m_iteration = zeros(DType::Int64, {1});
  return reinterpret_cast<const std::int64_t*>(m_iteration.address());
}

void DeviceContext::startIteration(std::int64_t iteration) {
  if (m_iteration.valid()) upload(Tensor::of<std::int64_t>({1}, std::span(&iteration, 1)), m_iteration);
}

void DeviceContext::reserve(std::size_t bytes) { m_reserved = std::max(m_reserved, bytes); }

std::byte* DeviceContext::workAt(std::size_t byte) {
  assert(byte <= m_reserved);
  if (!m_work.valid() || m_work.bytes() < m_reserved)
    m_work = zeros(DType::UInt8, {static_cast<std::int64_t>(m_reserved)});
  return m_work.address() + byte;
}

void DeviceContext::launchBytes(const char* kernel, std::int64_t work, const void* parameters,
                                std::size_t bytes) {
  const Device::Kernel found = m_device->kernel(kernel);
  assert(found);
  const std::int64_t blocks = std::clamp<std::int64_t>((work + kThreads - 1) / kThreads, 1, kMostBlocks);
  m_device->launch(found, {static_cast<std::uint32_t>(blocks), kThreads}, parameters, bytes);
}

std::int64_t* DeviceContext::addAlarm(NodeId node, Explain explain) {
  const auto place = static_cast<std::int64_t>(m_raisable.size()) % kAlarmsAtOnce;
  if (place == 0) m_alarms.push_back(zeros(DType::Int64, {kAlarmsAtOnce}));
  m_raisable.push_back({node, std::move(explain)});
  return reinterpret_cast<std::int64_t*>(m_alarms.back().address()) + place;
}

std::optional<Backend::Finding> DeviceContext::alarms() {
  if (m_alarms.empty())
    if (const Status done = wait(); !done.ok()) return Backend::Finding{{}, done.error()};
  for (std::size_t i = 0; i < m_alarms.size(); ++i) {
    Tensor said(DType::Int64, m_alarms[i].shape());
    if (const Status done = download(m_alarms[i], said); !done.ok())
      return Backend::Finding{{}, done.error()};
    const auto values = said.data<std::int64_t>();
    const auto first = std::ranges::find_if(values, [](std::int64_t value) { return value != 0; });
    if (first == values.end()) continue;
    for (const Tensor& all : m_alarms) m_device->fillZero(all.address(), all.bytes());
    return findingOf(m_raisable[i * kAlarmsAtOnce + static_cast<std::size_t>(first - values.begin())]);
  }
  return {};
}

Backend::Finding DeviceContext::findingOf(const Alarm& raised) {
  const Status why = raised.explain();
  if (!why.ok()) return {raised.node, why.error()};
  return {raised.node, Error(ErrorCode::kInternal, "its kernel found wrong data that the host does not")};
}

}  // namespace device
}  // namespace msdbg::core
