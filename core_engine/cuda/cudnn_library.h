// cuDNN as it is opened at run time. The functions are those that cuDNN 9 calls deprecated: they say of each
// algorithm whether it is deterministic, and the choice needs no graph.
#pragma once

#include <cudnn.h>

#include "core_engine/cuda/shared_library.h"

namespace msdbg::core::device {

#define MSDBG_CUDNN(X)                              \
  X(cudnnCreate)                                    \
  X(cudnnDestroy)                                   \
  X(cudnnGetVersion)                                \
  X(cudnnGetErrorString)                            \
  X(cudnnSetStream)                                 \
  X(cudnnCreateTensorDescriptor)                    \
  X(cudnnDestroyTensorDescriptor)                   \
  X(cudnnSetTensor4dDescriptor)                     \
  X(cudnnCreateFilterDescriptor)                    \
  X(cudnnDestroyFilterDescriptor)                   \
  X(cudnnSetFilter4dDescriptor)                     \
  X(cudnnCreateConvolutionDescriptor)               \
  X(cudnnDestroyConvolutionDescriptor)              \
  X(cudnnSetConvolution2dDescriptor)                \
  X(cudnnSetConvolutionGroupCount)                  \
  X(cudnnSetConvolutionMathType)                    \
  X(cudnnGetConvolution2dForwardOutputDim)          \
  X(cudnnGetConvolutionForwardAlgorithm_v7)         \
  X(cudnnGetConvolutionForwardWorkspaceSize)        \
  X(cudnnConvolutionForward)                        \
  X(cudnnGetConvolutionBackwardDataAlgorithm_v7)    \
  X(cudnnGetConvolutionBackwardDataWorkspaceSize)   \
  X(cudnnConvolutionBackwardData)                   \
  X(cudnnGetConvolutionBackwardFilterAlgorithm_v7)  \
  X(cudnnGetConvolutionBackwardFilterWorkspaceSize) \
  X(cudnnConvolutionBackwardFilter)                 \
  X(cudnnAddTensor)

struct Cudnn {
  SharedLibrary file{"libcudnn.so." MSDBG_TEXT(CUDNN_MAJOR)};
  bool usable = false;
  cudnnHandle_t handle = nullptr;
#define MSDBG_MEMBER(name) decltype(&::name) name = nullptr;
  MSDBG_CUDNN(MSDBG_MEMBER)
#undef MSDBG_MEMBER

  Cudnn() {
#define MSDBG_FIND(name) &&file.find(#name, name)
    usable = static_cast<bool>(file) MSDBG_CUDNN(MSDBG_FIND);
#undef MSDBG_FIND
  }
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;
  ~Cudnn() {
    if (handle) cudnnDestroy(handle);
  }
};

#undef MSDBG_CUDNN

}  // namespace msdbg::core::device
