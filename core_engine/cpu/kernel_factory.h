// How a fast kernel is added: one factory per operator and a row in builtin_kernels.cpp, the only list; a
// factory of tiles (tile_op.h) where the kernel can work in parts, so that it can be grouped. The
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
struct TileAnswer;  // tile_op.h
using TileFactory = TileAnswer (*)(const CompileRequest& request);

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
  KernelFactory make;  // nullptr: from `tiles`
  DTypes dtypes = DTypes::kFloat32;
  KnownLayouts layouts = KnownLayouts::kRowMajor;
  TileFactory tiles = nullptr;  // the same kernel in parts
  int revision = 1;             // raised when the kernel's bits change
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
TileAnswer addTiles(const CompileRequest& request);
TileAnswer subTiles(const CompileRequest& request);
TileAnswer mulTiles(const CompileRequest& request);
TileAnswer divTiles(const CompileRequest& request);
TileAnswer reluTiles(const CompileRequest& request);
TileAnswer sigmoidTiles(const CompileRequest& request);
TileAnswer tanhTiles(const CompileRequest& request);
TileAnswer reluGradTiles(const CompileRequest& request);
TileAnswer sigmoidGradTiles(const CompileRequest& request);
TileAnswer tanhGradTiles(const CompileRequest& request);
TileAnswer expTiles(const CompileRequest& request);
TileAnswer logTiles(const CompileRequest& request);
TileAnswer sqrtTiles(const CompileRequest& request);
TileAnswer erfTiles(const CompileRequest& request);
TileAnswer geluTiles(const CompileRequest& request);
TileAnswer geluGradTiles(const CompileRequest& request);
// batch_norm.cpp; in parts in channels of 16 only
TileAnswer batchNormTiles(const CompileRequest& request);
Backend::Answer batchNormKernel(const CompileRequest& request);
Backend::Answer batchNormGradKernel(const CompileRequest& request);
// layer_norm.cpp
TileAnswer layerNormTiles(const CompileRequest& request);
Backend::Answer layerNormGradKernel(const CompileRequest& request);
// softmax.cpp
TileAnswer softmaxTiles(const CompileRequest& request);
TileAnswer softmaxGradTiles(const CompileRequest& request);
TileAnswer logSoftmaxTiles(const CompileRequest& request);
TileAnswer logSoftmaxGradTiles(const CompileRequest& request);
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
TileAnswer dropoutTiles(const CompileRequest& request);
TileAnswer dropoutGradTiles(const CompileRequest& request);
// adam_update.cpp
TileAnswer accumulateGradientTiles(const CompileRequest& request);
TileAnswer adamUpdateTiles(const CompileRequest& request);
// sgd_update.cpp
TileAnswer sgdUpdateTiles(const CompileRequest& request);

}  // namespace msdbg::core::cpu
