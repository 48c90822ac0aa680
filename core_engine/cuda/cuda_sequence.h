// What was captured from a stream, as a CUDA graph.
#pragma once

#include "core_engine/cuda/cuda_device.h"

namespace msdbg::core::device {

class CudaSequence final : public Sequence {
 public:
  /// Takes the graph. nullptr and why not.
  static std::unique_ptr<CudaSequence> make(CudaDevice& device, cudaGraph_t graph, std::string& why);
  ~CudaSequence() override;
  void run() override;

 private:
  explicit CudaSequence(CudaDevice& device) : m_device(device) {}

  CudaDevice& m_device;
  cudaGraph_t m_graph = nullptr;
  cudaGraphExec_t m_executable = nullptr;
};

}  // namespace msdbg::core::device
