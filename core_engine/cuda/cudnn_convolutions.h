// Convolutions by cuDNN. What it chooses depends on the shape, the library and the GPU alone: the first
// algorithm of its heuristic that is deterministic, needs no TF32 and little memory; nothing is measured.
#pragma once

#include <memory>
#include <string>

#include "core_engine/device/device.h"

namespace msdbg::core::device {

class CudaDevice;
struct Cudnn;

class CudnnConvolutions {
 public:
  CudnnConvolutions();
  ~CudnnConvolutions();

  /// "9.19.0", or "none".
  std::string version() const;
  /// nullptr and why not.
  std::unique_ptr<Operation> prepare(CudaDevice& device, const ConvolutionShape& shape, std::string& why);

 private:
  std::unique_ptr<Cudnn> m_library;
};

}  // namespace msdbg::core::device
