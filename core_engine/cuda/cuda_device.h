// A GPU of NVIDIA's: the runtime API, which is linked statically, on one stream. cuBLASLt computes products,
// cuDNN convolutions; both are opened when the machine has them.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "core_engine/cuda/staging_ring.h"
#include "core_engine/device/device.h"

namespace msdbg::core::device {

class CublasProducts;
class CudnnConvolutions;

class CudaDevice final : public Device {
 public:
  /// nullptr and why not.
  static std::unique_ptr<CudaDevice> open(int number, std::string& why);
  ~CudaDevice() override;

  const DeviceFacts& facts() const override { return m_facts; }

  void* allocate(std::size_t bytes) override;
  void release(void* memory) override;
  void* allocatePinned(std::size_t bytes) override;
  void releasePinned(void* memory) override;
  std::size_t freeBytes() override;

  void copyIn(void* to, const void* fromHost, std::size_t bytes) override;
  void copyOut(void* toHost, const void* from, std::size_t bytes) override;
  void copyWithin(void* to, const void* from, std::size_t bytes) override;
  void fillZero(void* to, std::size_t bytes) override;
  std::string wait() override;

  Kernel kernel(const char* name) override;
  void launch(Kernel kernel, const LaunchShape& shape, const void* parameters, std::size_t bytes) override;

  void beginSequence() override;
  std::unique_ptr<Sequence> endSequence(std::string& why) override;

  std::unique_ptr<Operation> product(const ProductShape& shape, std::string& why) override;
  std::unique_ptr<Operation> convolution(const ConvolutionShape& shape, std::string& why) override;

  void beginTimer() override;
  double endTimer() override;

  // --- for operations of libraries ---

  cudaStream_t stream() const { return m_stream; }
  /// CUDA's functions mean the device that is current in the thread; a process may hold several.
  void makeCurrent();
  /// One for all, as what is queued is done in order: at least so many bytes, nullptr: there are none. May
  /// move when a later call asks for more, so that who runs asks again.
  void* workspace(std::size_t bytes);
  /// Whether an operation can take these arguments; notes why not.
  bool accepts(const char* what, const std::vector<const void*>& inputs, std::size_t wanted,
               const void* output);
  /// What is queued next, for the message of a failure that shows up later.
  void queueing(const char* label) { m_last = label; }
  /// Keeps the first failure for wait().
  void fail(const std::string& what);

 private:
  explicit CudaDevice(int ordinal);
  bool prepare(std::string& why);
  void findFacts(const cudaDeviceProp& properties);
  /// Whether the call was a success; notes the failure otherwise.
  bool passed(cudaError_t status, const char* call);

  int m_ordinal;
  DeviceFacts m_facts;
  cudaStream_t m_stream = nullptr;
  cudaEvent_t m_begin = nullptr, m_end = nullptr;
  StagingRing m_staging;
  void* m_workspace = nullptr;
  std::size_t m_workspaceBytes = 0;
  std::string m_failure;         // the first since the last wait()
  const char* m_last = nullptr;  // what was queued last since then
  std::unique_ptr<CublasProducts> m_products;
  std::unique_ptr<CudnnConvolutions> m_convolutions;
};

}  // namespace msdbg::core::device
