#include "core_engine/cuda/cuda_sequence.h"

namespace msdbg::core::device {

std::unique_ptr<CudaSequence> CudaSequence::make(CudaDevice& device, cudaGraph_t graph, std::string& why) {
  std::unique_ptr<CudaSequence> sequence(new CudaSequence(device));
  sequence->m_graph = graph;
  device.makeCurrent();
  if (const cudaError_t status = cudaGraphInstantiate(&sequence->m_executable, graph, 0);
      status != cudaSuccess) {
    cudaGetLastError();
    why = std::string("cudaGraphInstantiate: ") + cudaGetErrorString(status);
    return nullptr;
  }
  return sequence;
}

CudaSequence::~CudaSequence() {
  m_device.makeCurrent();
  if (m_executable) cudaGraphExecDestroy(m_executable);
  if (m_graph) cudaGraphDestroy(m_graph);
}

void CudaSequence::run() {
  m_device.makeCurrent();
  if (const cudaError_t status = cudaGraphLaunch(m_executable, m_device.stream()); status != cudaSuccess)
    m_device.fail(std::string("cudaGraphLaunch: ") + cudaGetErrorString(status));
  m_device.queueing("an iteration's kernels");
}

}  // namespace msdbg::core::device
