// Products of matrices by cuBLASLt. What it chooses depends on the shape, the library and the GPU alone: no
// measuring, no sum of parts over k whose order could vary, no TF32.
#pragma once

#include <memory>
#include <string>

#include "core_engine/device/device.h"

namespace msdbg::core::device {

class CudaDevice;
struct CublasLt;

class CublasProducts {
 public:
  CublasProducts();
  ~CublasProducts();

  /// "13.1.0", or "none".
  std::string version() const;
  /// nullptr and why not.
  std::unique_ptr<Operation> prepare(CudaDevice& device, const ProductShape& shape, std::string& why);

 private:
  std::unique_ptr<CublasLt> m_library;
};

}  // namespace msdbg::core::device
