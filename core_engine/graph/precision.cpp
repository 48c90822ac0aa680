#include "core_engine/graph/precision.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core_engine/ops/onnx_dtype.h"

namespace msdbg::core {
namespace {

constexpr std::array<std::string_view, 3> kLower = {"Conv", "Gemm", "MatMul"};
constexpr std::array<std::string_view, 18> kFloat32 = {"BatchNormalization",
                                                       "Cos",
                                                       "Erf",
                                                       "Exp",
                                                       "GlobalAveragePool",
                                                       "GroupNormalization",
                                                       "LayerNormalization",
                                                       "Log",
                                                       "LogSoftmax",
                                                       "Pow",
                                                       "ReduceMean",
                                                       "ReduceSum",
                                                       "ReduceSumSquare",
                                                       "Sin",
                                                       "Softmax",
                                                       "SoftmaxCrossEntropyLoss",
                                                       "Softplus",
                                                       "Sqrt"};

bool isCast(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return node.opType == "Cast" && node.phase == Phase::kForward && node.isOwn();
}

std::optional<Value> castAlready(Value x, DType to) {
  if (!x.info().isSource()) return std::nullopt;
  for (const NodeId reader : x.graph().consumers(x.id())) {
    if (!isCast(x.graph(), reader)) continue;
    const TensorId made = x.graph().node(reader).outputs.front();
    if (x.graph().tensor(made).dtype == to) return Value(x.graph(), made);
  }
  return std::nullopt;
}

Value cast(Value x, DType to, std::span<const FrameId> frames) {
  if (const auto made = castAlready(x, to)) return *made;
  Graph& graph = x.graph();
  TensorInfo output;
  output.dtype = to;
  output.shape = x.shape();
  output.replicated = x.info().replicated;
  const NodeId node =
      graph.addNode("Cast", graph.scopePath(), Phase::kForward, {x.id()}, {{"to", onnxNumber(to)}},
                    {std::move(output)}, std::vector<FrameId>(frames.begin(), frames.end()));
  return {graph, graph.node(node).outputs.front()};
}

/// What was cast up from the lower precision is read as it was.
Value original(Value x, DType lower) {
  const TensorInfo& info = x.info();
  if (info.isSource() || !isCast(x.graph(), info.producer)) return x;
  const TensorId from = x.graph().node(info.producer).inputs.front();
  return x.graph().tensor(from).dtype == lower ? Value(x.graph(), from) : x;
}

bool isWide(const Value& x) { return x.dtype() == DType::Float32; }
bool isLower(const Value& x) { return isRounded(x.dtype()); }

/// nullopt: all as they are.
std::optional<DType> wanted(std::string_view opType, std::span<const Value> inputs) {
  if (opType == "Cast") return std::nullopt;
  const std::optional<DType> lower = inputs.front().graph().lowerPrecision();
  const bool wide = std::ranges::any_of(inputs, isWide), narrow = std::ranges::any_of(inputs, isLower);
  if (!lower) return wide && narrow ? std::optional(DType::Float32) : std::nullopt;
  const Computing computing = computingOf(opType);
  if (computing == Computing::kLower) return lower;
  return wide || computing == Computing::kFloat32 ? DType::Float32 : *lower;
}

}  // namespace

Computing computingOf(std::string_view opType) {
  if (std::ranges::find(kLower, opType) != kLower.end()) return Computing::kLower;
  if (std::ranges::find(kFloat32, opType) != kFloat32.end()) return Computing::kFloat32;
  return Computing::kWidest;
}

std::vector<DType> dtypesRead(std::string_view opType, std::span<const Value> inputs) {
  const std::optional<DType> to = wanted(opType, inputs);
  std::vector<DType> dtypes;
  for (const Value& x : inputs) dtypes.push_back(to && (isWide(x) || isLower(x)) ? *to : x.dtype());
  return dtypes;
}

std::vector<Value> castTo(std::span<const DType> dtypes, std::span<const Value> inputs,
                          std::span<const FrameId> frames) {
  std::vector<Value> read(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (isRounded(dtypes[i])) read[i] = original(read[i], dtypes[i]);
    if (read[i].dtype() != dtypes[i]) read[i] = cast(read[i], dtypes[i], frames);
  }
  return read;
}

DType parameterDType(const Value& x) { return isRounded(x.dtype()) ? x.graph().floatingDType() : x.dtype(); }

}  // namespace msdbg::core
