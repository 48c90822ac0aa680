// Mixed precision while a graph is built (Graph::mixedPrecision): which operators compute in the lower dtype,
// which in float32 and which in the wider one of what they are given; Casts between them are ordinary nodes,
// so that gradients come back in the dtype in which a value went forward, and parameters, their gradients and
// states stay float32. The lists are torch.autocast's ("Autocast Op Reference", pytorch.org), with all
// reductions and normalisations in float32.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

enum class Computing {
  kLower,    // products: Conv, Gemm, MatMul
  kFloat32,  // sums, normalisations, exponentials, losses
  kWidest,   // in float32 where an input is, else as the inputs are
};
Computing computingOf(std::string_view opType);

/// The dtypes in which an operator reads these inputs: without a lower precision those that they have, but
/// that a float16 or bfloat16 beside float32 is read in float32.
std::vector<DType> dtypesRead(std::string_view opType, std::span<const Value> inputs);
/// The inputs in these dtypes: themselves, or Casts of them. A source is cast once for all that read it; of
/// all else each reader has a Cast of its own, so that gradients are summed in the dtype of the value.
std::vector<Value> castTo(std::span<const DType> dtypes, std::span<const Value> inputs,
                          std::span<const FrameId> frames);

/// The dtype of parameters of a layer that reads x: the graph's own where x is of a lower precision.
DType parameterDType(const Value& x);

}  // namespace msdbg::core
