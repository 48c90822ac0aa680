#include "core_engine/device/emulated/emulated_device.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

namespace msdbg::core::device::emulated {
namespace {

constexpr std::size_t kAlignment = 256;

class EmulatedDevice : public Device {
 public:
  EmulatedDevice(ThreadOrder order, std::size_t bytes)
      : m_order(order), m_capacity(bytes ? bytes : std::numeric_limits<std::size_t>::max()) {}
  ~EmulatedDevice() override {
    for (const auto& [memory, bytes] : m_allocated) std::free(memory);
  }

  const DeviceFacts& facts() const override { return m_facts; }

  void* allocate(std::size_t bytes) override {
    const std::size_t rounded = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (m_kept) return fail("memory that is asked for in a sequence"), nullptr;
    if (rounded > freeBytes()) return nullptr;
    void* memory = std::aligned_alloc(kAlignment, rounded);
    if (!memory) return nullptr;
    std::memset(memory, 0xff, rounded);  // NaN: whoever reads before it writes is seen
    m_allocated[memory] = rounded;
    m_used += rounded;
    return memory;
  }
  void release(void* memory) override {
    const auto found = m_allocated.find(memory);
    if (found == m_allocated.end()) return fail("release of memory that is none of the device's");
    m_used -= found->second;
    m_allocated.erase(found);
    std::free(memory);
  }
  void* allocatePinned(std::size_t bytes) override {
    return std::aligned_alloc(kAlignment,
                              std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
  }
  void releasePinned(void* memory) override { std::free(memory); }
  std::size_t freeBytes() override { return m_capacity - m_used; }

  void copyIn(void* to, const void* fromHost, std::size_t bytes) override {
    if (m_kept) return fail("a copy from the host in a sequence");
    if (holds(to, bytes, "copy to the device")) std::memcpy(to, fromHost, bytes);
  }
  void copyOut(void* toHost, const void* from, std::size_t bytes) override {
    if (m_kept) return fail("a copy to the host in a sequence");
    if (holds(from, bytes, "copy from the device")) std::memcpy(toHost, from, bytes);
  }
  void copyWithin(void* to, const void* from, std::size_t bytes) override {
    if (m_kept) return keep([=, this] { copyWithin(to, from, bytes); });
    if (holds(to, bytes, "copy within the device") && holds(from, bytes, "copy within the device"))
      std::memmove(to, from, bytes);
  }
  void fillZero(void* to, std::size_t bytes) override {
    if (m_kept) return keep([=, this] { fillZero(to, bytes); });
    if (holds(to, bytes, "fill")) std::memset(to, 0, bytes);
  }
  std::string wait() override { return std::exchange(m_failure, {}); }

  Kernel kernel(const char* name) override { return findKernel(name); }
  void launch(Kernel kernel, const LaunchShape& shape, const void* parameters, std::size_t bytes) override {
    // As a launch copies them.
    const std::vector<std::byte> copy(static_cast<const std::byte*>(parameters),
                                      static_cast<const std::byte*>(parameters) + bytes);
    const auto run = [=, this] {
      const std::string mistake =
          runKernel(*static_cast<const EmulatedKernel*>(kernel), shape, copy.data(), m_order);
      if (!mistake.empty()) fail(mistake);
    };
    m_kept ? keep(run) : run();
  }

  void beginSequence() override { m_kept = std::make_shared<Kept>(); }
  std::unique_ptr<Sequence> endSequence(std::string&) override {
    return std::make_unique<KeptSequence>(std::exchange(m_kept, nullptr));
  }

  std::unique_ptr<Operation> product(const ProductShape&, std::string& why) override {
    why = "an emulated device leaves products to the CPU";
    return nullptr;
  }
  std::unique_ptr<Operation> convolution(const ConvolutionShape&, std::string& why) override {
    why = "an emulated device leaves convolutions to the CPU";
    return nullptr;
  }

  void beginTimer() override { m_start = Clock::now(); }
  double endTimer() override { return std::chrono::duration<double>(Clock::now() - m_start).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  using Kept = std::vector<std::function<void()>>;
  struct KeptSequence : Sequence {
    explicit KeptSequence(std::shared_ptr<Kept> all) : kept(std::move(all)) {}
    void run() override {
      for (const auto& work : *kept) work();
    }
    std::shared_ptr<Kept> kept;
  };

  void keep(std::function<void()> work) { m_kept->push_back(std::move(work)); }
  void fail(const std::string& what) {
    if (m_failure.empty()) m_failure = "emulated device: " + what;
  }
  bool holds(const void* from, std::size_t bytes, const char* what) {
    auto after = m_allocated.upper_bound(const_cast<void*>(from));
    if (bytes == 0) return true;
    if (after != m_allocated.begin()) {
      const auto& [memory, size] = *std::prev(after);
      const std::size_t offset =
          static_cast<std::size_t>(static_cast<const std::byte*>(from) - static_cast<std::byte*>(memory));
      if (offset + bytes <= size) return true;
    }
    fail(std::string(what) + ": " + std::to_string(bytes) + " bytes that are none of the device's");
    return false;
  }

  ThreadOrder m_order;
  std::shared_ptr<Kept> m_kept;  // of the sequence that is being queued
  std::size_t m_capacity, m_used = 0;
  std::map<void*, std::size_t> m_allocated;
  std::string m_failure;
  Clock::time_point m_start;
  DeviceFacts m_facts{"emulated device", "emulated", {}};
};

}  // namespace

std::unique_ptr<Device> makeEmulatedDevice(ThreadOrder order, std::size_t memoryBytes) {
  return std::make_unique<EmulatedDevice>(order, memoryBytes);
}

}  // namespace msdbg::core::device::emulated
