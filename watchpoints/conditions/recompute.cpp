#include "watchpoints/conditions/recompute.h"

#include <algorithm>
#include <cstring>

#include "core_engine/ops/op_facts.h"
#include "core_engine/ops/reference_run.h"

namespace msdbg::watch {

using core::Error;
using core::ErrorCode;
using core::Result;
using core::Tensor;

namespace {

Result<std::vector<Tensor>> storedInputs(Source& source, const Place& place, const core::Node& node) {
  std::vector<Tensor> inputs;
  for (core::TensorId input : node.inputs) {
    MSDBG_ASSIGN(Tensor value, source.value(place.rank, place.iteration, input));
    const core::TensorInfo& info = source.graph().tensor(input);
    if (value.dtype() != info.dtype || value.shape() != info.shape)
      return Error(ErrorCode::kUnavailable, info.fullName() + ": the recorded shape is not the graph's");
    inputs.push_back(std::move(value));
  }
  return inputs;
}

std::vector<Tensor> allocateOutputs(const core::Graph& graph, const core::Node& node) {
  std::vector<Tensor> outputs;
  for (core::TensorId output : node.outputs)
    outputs.emplace_back(graph.tensor(output).dtype, graph.tensor(output).shape);
  return outputs;
}

bool computable(const core::Graph& graph, const core::Node& node) {
  const core::OpDef* op = core::findOp(node);
  return op && op->reference && !isCollective(node) && core::hasComputedDTypes(graph, node) &&
         std::ranges::all_of(node.outputs, [&](core::TensorId id) { return graph.tensor(id).shape.known(); });
}

}  // namespace

core::Result<Tensor> recomputeOutput(Source& source, const Place& place) {
  const core::Graph& graph = source.graph();
  const core::TensorInfo& info = graph.tensor(place.tensor);
  if (info.isSource()) return Error(ErrorCode::kUnavailable, info.name + " is not computed");
  const core::Node& node = graph.node(info.producer);
  if (!computable(graph, node)) return Error(ErrorCode::kUnavailable, node.name + ": no reference kernel");
  MSDBG_ASSIGN(const std::vector<Tensor> inputs, storedInputs(source, place, node));
  std::vector<Tensor> outputs = allocateOutputs(graph, node);
  std::vector<const Tensor*> inputPointers;
  std::vector<Tensor*> outputPointers;
  for (const Tensor& t : inputs) inputPointers.push_back(&t);
  for (Tensor& t : outputs) outputPointers.push_back(&t);
  core::RunState state;
  state.iteration = place.iteration;
  state.rank = place.rank;
  state.ranks = source.rankCount();
  MSDBG_TRY(core::runReference(*core::findOp(node), {node, inputPointers, outputPointers, state}));
  return outputs[static_cast<std::size_t>(info.slot)];
}

std::optional<Difference> firstDifference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return std::nullopt;
  const std::size_t size = core::dtypeSize(a.dtype());
  Difference difference;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.elements()); ++i) {
    if (std::memcmp(a.byteSpan().data() + i * size, b.byteSpan().data() + i * size, size) == 0) continue;
    if (difference.count++ == 0) difference.first = static_cast<std::int64_t>(i);
  }
  return difference.count > 0 ? std::optional(difference) : std::nullopt;
}

}  // namespace msdbg::watch
