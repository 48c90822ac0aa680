#include "core_engine/ops/reference_run.h"

#include <algorithm>

namespace msdbg::core {

namespace {

/// Nobody has asked yet whether the operator makes these outputs of these inputs: in a graph from a file it
/// may not.
Status checkTypes(const OpDef& op, const KernelArgs& args) {
  std::vector<TensorType> inputs, outputs;
  for (const Tensor* input : args.inputs) inputs.push_back({input->dtype(), input->shape()});
  for (const Tensor* output : args.outputs) outputs.push_back({output->dtype(), output->shape()});
  MSDBG_ASSIGN(const std::vector<TensorType> made, op.infer(inputs, args.node.attributes));
  if (made == outputs) return Ok{};
  return Error(ErrorCode::kUnsupported, args.node.name + " is recorded with other outputs than " +
                                            std::string(op.name) + " makes of its inputs");
}

}  // namespace

Status runReference(const OpDef& op, const KernelArgs& args) {
  const auto rounded = [](const Tensor* tensor) { return isRounded(tensor->dtype()); };
  if (std::ranges::none_of(args.inputs, rounded) && std::ranges::none_of(args.outputs, rounded))
    return op.reference(args);
  MSDBG_TRY(checkTypes(op, args));
  std::vector<Tensor> wide;
  wide.reserve(args.inputs.size() + args.outputs.size());
  std::vector<const Tensor*> inputs(args.inputs.begin(), args.inputs.end());
  std::vector<Tensor*> outputs(args.outputs.begin(), args.outputs.end());
  for (const Tensor*& input : inputs)
    if (isRounded(input->dtype())) input = &wide.emplace_back(input->cast(DType::Float32));
  for (Tensor*& output : outputs)
    if (isRounded(output->dtype())) output = &wide.emplace_back(DType::Float32, output->shape());
  MSDBG_TRY(op.reference({args.node, inputs, outputs, args.state, args.watch}));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == args.outputs[i]) continue;
    const Tensor result = outputs[i]->cast(args.outputs[i]->dtype());
    std::ranges::copy(result.byteSpan(), args.outputs[i]->byteSpan().begin());
  }
  return Ok{};
}

}  // namespace msdbg::core
