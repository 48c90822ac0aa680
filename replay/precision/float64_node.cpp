#include "replay/precision/float64_node.h"

#include <algorithm>
#include <string_view>

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;
using core::Tensor;

namespace {

struct Choosing {
  std::string_view op;
  std::size_t first, last;  // inputs
};
// By the operators' own lists of inputs (msdbg ops).
constexpr Choosing kChoosing[] = {{"AbsGrad", 1, 1},       {"ClipGrad", 1, 1},    {"HardSigmoidGrad", 1, 1},
                                  {"LeakyReluGrad", 1, 1}, {"MaxPoolGrad", 0, 1}, {"ReduceMaxGrad", 1, 2},
                                  {"ReduceMinGrad", 1, 2}, {"ReluGrad", 1, 1}};

}  // namespace

bool onlyChooses(const core::Node& node, std::size_t input) {
  return std::ranges::any_of(kChoosing, [&](const Choosing& each) {
    return each.op == node.opType && each.first <= input && input <= each.last;
  });
}

Status checkInFloat64(const core::Graph& graph, const core::Node& node) {
  const core::OpDef* op = core::findOp(node);
  if (!op || !op->reference)
    return Error(ErrorCode::kUnsupported,
                 node.opType + (node.isOwn() ? "" : " of " + node.domain) + " has no kernel here");
  for (const std::vector<core::TensorId>* ids : {&node.inputs, &node.outputs})
    for (const core::TensorId id : *ids) {
      const core::TensorInfo& info = graph.tensor(id);
      if (!core::isComputed(info.dtype)) return Error(ErrorCode::kUnsupported, core::notComputed(info.dtype));
      if (!info.shape.known())
        return Error(ErrorCode::kUnsupported, "the shape of " + info.fullName() + " is not known");
    }
  return Ok{};
}

Result<std::vector<Tensor>> runInFloat64(const core::Graph& graph, const core::Node& node,
                                         std::span<const Tensor> inputs, const core::RunState& state) {
  std::vector<Tensor> outputs;
  for (const core::TensorId id : node.outputs)
    outputs.emplace_back(graph.tensor(id).dtype, graph.tensor(id).shape);
  std::vector<const Tensor*> in;
  for (const Tensor& each : inputs) in.push_back(&each);
  std::vector<Tensor*> out;
  for (Tensor& each : outputs) out.push_back(&each);
  MSDBG_TRY(core::findOp(node)->reference({node, in, out, state}));
  return outputs;
}

}  // namespace msdbg::replay
