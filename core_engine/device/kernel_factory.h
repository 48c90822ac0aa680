// How a kernel of a device is added: its source and its row in kernels/, one factory here and a row in
// builtin_kernels.cpp. The backend has checked dtypes and shapes before it asks a factory (DeviceKernelRow).
// A factory that cannot help declines with a reason, and the node runs on the host between two copies.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/device/device_context.h"
#include "core_engine/device/kernels/parameters.h"
#include "core_engine/runtime/backend.h"

namespace msdbg::core::device {

struct DeviceRequest {
  const Graph& graph;
  const Node& node;
  DeviceContext& context;
  std::string_view backend;  // "cuda"

  const TensorInfo& input(std::size_t i) const { return graph.tensor(node.inputs[i]); }
  const TensorInfo& output(std::size_t i = 0) const { return graph.tensor(node.outputs[i]); }
  bool hasInput(std::size_t i) const { return i < node.inputs.size(); }
};

using DeviceFactory = Backend::Answer (*)(const DeviceRequest& request);

struct DeviceKernelRow {
  std::string_view opType;
  DeviceFactory make;
  bool anyDtype = false;  // else every floating tensor of the node must be float32
  bool inPlace = false;   // a next value may lie where the current one does
  int revision = 1;       // raised when the kernel's bits change
};
std::span<const DeviceKernelRow> builtinDeviceKernels();

inline Backend::Answer decline(std::string reason) { return {nullptr, std::move(reason)}; }

/// A kernel that is one function, named "<backend>:<opType>".
using RunFunction = std::function<void(const KernelArgs& args)>;
Backend::Answer deviceKernel(const DeviceRequest& request, RunFunction run, std::string implementation = "");

/// Where the elements of an input or output of a running kernel lie.
template <typename T = float>
const T* in(const KernelArgs& args, std::size_t i) {
  return reinterpret_cast<const T*>(args.inputs[i]->address());
}
template <typename T = float>
T* out(const KernelArgs& args, std::size_t i = 0) {
  return reinterpret_cast<T*>(args.outputs[i]->address());
}

/// The dimensions of `shape` but for those of 1, neighbours joined that all operands walk through alike;
/// `strides`: by operand, by dimension of `shape`. False: more than kMostDims are left.
struct JoinedDims {
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::int64_t>> strides;  // by operand
  bool fits() const { return dims.size() <= kMostDims; }
};
JoinedDims joinDims(const Shape& shape, const std::vector<std::vector<std::int64_t>>& strides);
inline void copyDims(const std::vector<std::int64_t>& from, std::int64_t* to) { std::ranges::copy(from, to); }

// elementwise.cpp
Backend::Answer reluKernel(const DeviceRequest& request);
Backend::Answer sigmoidKernel(const DeviceRequest& request);
Backend::Answer tanhKernel(const DeviceRequest& request);
Backend::Answer expKernel(const DeviceRequest& request);
Backend::Answer logKernel(const DeviceRequest& request);
Backend::Answer sqrtKernel(const DeviceRequest& request);
Backend::Answer erfKernel(const DeviceRequest& request);
Backend::Answer geluKernel(const DeviceRequest& request);
Backend::Answer addKernel(const DeviceRequest& request);
Backend::Answer subKernel(const DeviceRequest& request);
Backend::Answer mulKernel(const DeviceRequest& request);
Backend::Answer divKernel(const DeviceRequest& request);
Backend::Answer reluGradKernel(const DeviceRequest& request);
Backend::Answer sigmoidGradKernel(const DeviceRequest& request);
Backend::Answer tanhGradKernel(const DeviceRequest& request);
Backend::Answer geluGradKernel(const DeviceRequest& request);
// copies.cpp
Backend::Answer copyKernel(const DeviceRequest& request);
Backend::Answer castKernel(const DeviceRequest& request);
Backend::Answer transposeKernel(const DeviceRequest& request);
Backend::Answer concatKernel(const DeviceRequest& request);
Backend::Answer splitKernel(const DeviceRequest& request);
// lines.cpp
Backend::Answer softmaxKernel(const DeviceRequest& request);
Backend::Answer softmaxGradKernel(const DeviceRequest& request);
Backend::Answer logSoftmaxKernel(const DeviceRequest& request);
Backend::Answer logSoftmaxGradKernel(const DeviceRequest& request);
Backend::Answer layerNormKernel(const DeviceRequest& request);
Backend::Answer layerNormGradKernel(const DeviceRequest& request);
Backend::Answer crossEntropyKernel(const DeviceRequest& request);
Backend::Answer crossEntropyGradKernel(const DeviceRequest& request);
// reductions.cpp
Backend::Answer reduceSumKernel(const DeviceRequest& request);
Backend::Answer reduceMeanKernel(const DeviceRequest& request);
Backend::Answer reduceSumSquareKernel(const DeviceRequest& request);
Backend::Answer globalAveragePoolKernel(const DeviceRequest& request);
Backend::Answer reduceSumGradKernel(const DeviceRequest& request);
Backend::Answer reduceMeanGradKernel(const DeviceRequest& request);
// batch_norm.cpp
Backend::Answer batchNormKernel(const DeviceRequest& request);
Backend::Answer batchNormGradKernel(const DeviceRequest& request);
// pooling.cpp
Backend::Answer maxPoolKernel(const DeviceRequest& request);
Backend::Answer maxPoolGradKernel(const DeviceRequest& request);
// gather.cpp
Backend::Answer gatherKernel(const DeviceRequest& request);
Backend::Answer gatherGradKernel(const DeviceRequest& request);
// dropout.cpp
Backend::Answer dropoutKernel(const DeviceRequest& request);
Backend::Answer dropoutGradKernel(const DeviceRequest& request);
// updates.cpp
Backend::Answer sgdUpdateKernel(const DeviceRequest& request);
Backend::Answer adamUpdateKernel(const DeviceRequest& request);
Backend::Answer accumulateGradientKernel(const DeviceRequest& request);
Backend::Answer stepUpdateKernel(const DeviceRequest& request);
// products.cpp
Backend::Answer gemmKernel(const DeviceRequest& request);
Backend::Answer matMulKernel(const DeviceRequest& request);
// convolutions.cpp
Backend::Answer convKernel(const DeviceRequest& request);
Backend::Answer convGradInputKernel(const DeviceRequest& request);
Backend::Answer convGradWeightKernel(const DeviceRequest& request);

}  // namespace msdbg::core::device
