// How a fast kernel is added: one factory per operator and a row in builtin_kernels.cpp, the only list. The
// backend has checked dtypes and shapes before it asks a factory (see KernelRow), so factories only look at
// what is special to them. Pure functions; a factory that cannot help declines with a reason, and the
// reference kernel takes over.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core_engine/runtime/backend.h"

namespace msdbg::core::cpu {

class DnnlContext;  // dnnl_internal.h

struct CompileRequest {
  const Graph& graph;
  const Node& node;
  int threads;
  std::shared_ptr<DnnlContext>
      dnnl;  // engine, stream and work memory that all oneDNN kernels of a backend share
  const Layouts& layouts;

  Layout inputLayout(std::size_t i) const { return layoutOf(layouts, node.inputs[i]); }
  Layout outputLayout(std::size_t i = 0) const { return layoutOf(layouts, node.outputs[i]); }
  const TensorInfo& input(std::size_t i) const { return graph.tensor(node.inputs[i]); }
  const TensorInfo& output(std::size_t i = 0) const { return graph.tensor(node.outputs[i]); }
  bool hasInput(std::size_t i) const { return i < node.inputs.size(); }
};

using KernelFactory = Backend::Answer (*)(const CompileRequest& request);

/// What the kernel knows beside row-major (layout_ports.cpp).
enum class KnownLayouts {
  kRowMajor,
  kConvolution,  // activations in channels of 16, each by itself
  kAlike,        // all four-dimensional tensors of one shape in channels of 16, or none
};

enum class DTypes {
  kFloat32,  // every floating tensor of the node must be float32
  kAny,      // the kernel moves bytes, whatever they mean
};

struct KernelRow {
  std::string_view opType;
  KernelFactory make;
  DTypes dtypes = DTypes::kFloat32;
  KnownLayouts layouts = KnownLayouts::kRowMajor;
};
/// Of a node whose dtypes and shapes the row takes.
LayoutPorts layoutPorts(const KernelRow& row, const Graph& graph, const Node& node);
std::span<const KernelRow> builtinKernels();

inline Backend::Answer decline(std::string reason) { return {nullptr, std::move(reason)}; }

/// A kernel that is one function. Everything derived from shapes is computed by the factory and captured.
using RunFunction = std::function<Status(const KernelArgs& args)>;
Backend::Answer functionKernel(const CompileRequest& request, RunFunction run);  // named "cpu:<opType>"

// dnnl_conv.cpp
Backend::Answer convKernel(const CompileRequest& request);
Backend::Answer convGradInputKernel(const CompileRequest& request);
Backend::Answer convGradWeightKernel(const CompileRequest& request);
// dnnl_gemm.cpp
Backend::Answer gemmKernel(const CompileRequest& request);
Backend::Answer matMulKernel(const CompileRequest& request);
// max_pool.cpp
Backend::Answer maxPoolKernel(const CompileRequest& request);
Backend::Answer maxPoolGradKernel(const CompileRequest& request);
// elementwise.cpp
Backend::Answer addKernel(const CompileRequest& request);
Backend::Answer subKernel(const CompileRequest& request);
Backend::Answer mulKernel(const CompileRequest& request);
Backend::Answer divKernel(const CompileRequest& request);
Backend::Answer reluKernel(const CompileRequest& request);
Backend::Answer sigmoidKernel(const CompileRequest& request);
Backend::Answer tanhKernel(const CompileRequest& request);
Backend::Answer reluGradKernel(const CompileRequest& request);
Backend::Answer sigmoidGradKernel(const CompileRequest& request);
Backend::Answer tanhGradKernel(const CompileRequest& request);
Backend::Answer expKernel(const CompileRequest& request);
Backend::Answer logKernel(const CompileRequest& request);
Backend::Answer sqrtKernel(const CompileRequest& request);
Backend::Answer erfKernel(const CompileRequest& request);
Backend::Answer geluKernel(const CompileRequest& request);
Backend::Answer geluGradKernel(const CompileRequest& request);
// batch_norm.cpp
Backend::Answer batchNormKernel(const CompileRequest& request);
Backend::Answer batchNormGradKernel(const CompileRequest& request);
// layer_norm.cpp
Backend::Answer layerNormKernel(const CompileRequest& request);
Backend::Answer layerNormGradKernel(const CompileRequest& request);
// softmax.cpp
Backend::Answer softmaxKernel(const CompileRequest& request);
Backend::Answer softmaxGradKernel(const CompileRequest& request);
Backend::Answer logSoftmaxKernel(const CompileRequest& request);
Backend::Answer logSoftmaxGradKernel(const CompileRequest& request);
// cross_entropy.cpp
Backend::Answer crossEntropyKernel(const CompileRequest& request);
Backend::Answer crossEntropyGradKernel(const CompileRequest& request);
// reduce.cpp
Backend::Answer reduceSumKernel(const CompileRequest& request);
Backend::Answer reduceMeanKernel(const CompileRequest& request);
Backend::Answer reduceSumSquareKernel(const CompileRequest& request);
Backend::Answer globalAveragePoolKernel(const CompileRequest& request);
Backend::Answer reduceSumGradKernel(const CompileRequest& request);
Backend::Answer reduceMeanGradKernel(const CompileRequest& request);
// transpose.cpp
Backend::Answer transposeKernel(const CompileRequest& request);
// copies.cpp
Backend::Answer copyKernel(const CompileRequest& request);  // Identity, Reshape, Flatten
Backend::Answer castKernel(const CompileRequest& request);
// dropout.cpp
Backend::Answer dropoutKernel(const CompileRequest& request);
Backend::Answer dropoutGradKernel(const CompileRequest& request);
// adam_update.cpp
Backend::Answer adamUpdateKernel(const CompileRequest& request);
// sgd_update.cpp
Backend::Answer sgdUpdateKernel(const CompileRequest& request);

}  // namespace msdbg::core::cpu
