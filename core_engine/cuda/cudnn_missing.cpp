// Instead of cudnn_convolutions.cpp where this is built without cuDNN's headers.
#include "core_engine/cuda/cudnn_convolutions.h"

namespace msdbg::core::device {

struct Cudnn {};

CudnnConvolutions::CudnnConvolutions() = default;
CudnnConvolutions::~CudnnConvolutions() = default;

std::string CudnnConvolutions::version() const { return "none"; }

std::unique_ptr<Operation> CudnnConvolutions::prepare(CudaDevice&, const ConvolutionShape&,
                                                      std::string& why) {
  why = "the CUDA module was built without cuDNN";
  return nullptr;
}

}  // namespace msdbg::core::device
