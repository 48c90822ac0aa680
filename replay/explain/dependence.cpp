#include "replay/explain/dependence.h"

#include <algorithm>

#include "core_engine/ops/broadcast.h"
#include "replay/explain/rows_internal.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Result;

std::span<const Dependence> dependences() {
  static constexpr Dependence kRows[] = {
      {"Abs", functionOfAll},
      {"AbsGrad", functionOfAll},
      {"AccumulateGradient", accumulateRow},
      {"AdamUpdate", adamRow},
      {"Add", addRow},
      {"Allreduce", sameElement, true},
      {"And", functionOfAll},
      {"ArgMax", argMaxRow},
      {"AveragePool", averagePoolRow},
      {"AveragePoolGrad", averagePoolGradRow},
      {"BatchNormalization", batchNormRow},
      {"BatchNormalizationGrad", batchNormGradRow},
      {"Cast", functionOfAll},
      {"Clip", functionOfAll},
      {"ClipGrad", functionOfAll},
      {"Concat", concatRow},
      {"Conv", convRow},
      {"ConvGradInput", convGradInputRow},
      {"ConvGradWeight", convGradWeightRow},
      {"Cos", functionOfAll},
      {"Div", functionOfAll},
      {"Dropout", dropoutRow},
      {"DropoutGrad", dropoutGradRow},
      {"Elu", functionOfAll},
      {"EluGrad", functionOfAll},
      {"Equal", functionOfAll},
      {"Erf", functionOfAll},
      {"ErfGrad", functionOfAll},
      {"Exp", functionOfAll},
      {"Expand", expandRow},
      {"Flatten", sameElement},
      {"Gather", gatherRow},
      {"GatherGrad", gatherGradRow},
      {"Gelu", functionOfAll},
      {"GeluGrad", functionOfAll},
      {"Gemm", gemmRow},
      {"GlobalAveragePool", globalAveragePoolRow},
      {"Greater", functionOfAll},
      {"GreaterOrEqual", functionOfAll},
      {"GroupNormalization", groupNormRow},
      {"GroupNormalizationGrad", groupNormGradRow},
      {"HardSigmoid", functionOfAll},
      {"HardSigmoidGrad", functionOfAll},
      {"HardSwish", functionOfAll},
      {"HardSwishGrad", functionOfAll},
      {"Identity", sameElement},
      {"LayerNormalization", layerNormRow},
      {"LayerNormalizationGrad", layerNormGradRow},
      {"LeakyRelu", functionOfAll},
      {"LeakyReluGrad", functionOfAll},
      {"Less", functionOfAll},
      {"LessOrEqual", functionOfAll},
      {"Log", functionOfAll},
      {"LogSoftmax", softmaxRow},
      {"LogSoftmaxGrad", logSoftmaxGradRow},
      {"MatMul", matMulRow},
      {"Max", maxRow},
      {"MaxPool", maxPoolRow},
      {"MaxPoolGrad", maxPoolGradRow},
      {"Min", minRow},
      {"Mul", mulRow},
      {"Neg", negRow},
      {"Not", functionOfAll},
      {"OneHot", oneHotRow},
      {"Or", functionOfAll},
      {"Pad", padRow},
      {"PadGrad", padGradRow},
      {"Pow", functionOfAll},
      {"Range", rangeRow},
      {"ReduceMax", reduceMaxRow},
      {"ReduceMaxGrad", reduceExtremeGradRow},
      {"ReduceMean", reduceMeanRow},
      {"ReduceMeanGrad", reduceMeanGradRow},
      {"ReduceMin", reduceMinRow},
      {"ReduceMinGrad", reduceExtremeGradRow},
      {"ReduceSum", reduceSumRow},
      {"ReduceSumGrad", reduceSumGradRow},
      {"ReduceSumSquare", reduceSumSquareRow},
      {"Relu", functionOfAll},
      {"ReluGrad", functionOfAll},
      {"Reshape", sameElement},
      {"SgdUpdate", sgdRow},
      {"Sigmoid", functionOfAll},
      {"SigmoidGrad", functionOfAll},
      {"Sin", functionOfAll},
      {"Slice", sliceRow},
      {"SliceGrad", sliceGradRow},
      {"Softmax", softmaxRow},
      {"SoftmaxCrossEntropyLoss", crossEntropyRow},
      {"SoftmaxCrossEntropyLossGrad", crossEntropyGradRow},
      {"SoftmaxGrad", softmaxGradRow},
      {"Softplus", functionOfAll},
      {"Split", splitRow},
      {"Sqrt", functionOfAll},
      {"Squeeze", sameElement},
      {"StepUpdate", functionOfAll},
      {"StopGradient", sameElement},
      {"Sub", subRow},
      {"Tanh", functionOfAll},
      {"TanhGrad", functionOfAll},
      {"Transpose", transposeRow},
      {"Trilu", triluRow},
      {"Unsqueeze", sameElement},
      {"Where", whereRow},
      {"Xor", functionOfAll},
  };
  return kRows;
}

const Dependence* findDependence(const core::Node& node) {
  if (!core::findOp(node)) return nullptr;
  const auto found = std::ranges::find(dependences(), node.opType, &Dependence::opType);
  return found == dependences().end() ? nullptr : &*found;
}

Result<Asked> Asked::make(const core::Node& node, std::span<const core::Tensor* const> inputs,
                          std::size_t slot, std::int64_t element, const core::RunState& state,
                          TermSink& sink) {
  const core::OpDef* op = core::findOp(node);
  if (!op) return Error(ErrorCode::kUnsupported, node.opType + " is no operator of ours");
  if (inputs.size() < op->minInputs || inputs.size() > op->maxInputs)
    return Error(ErrorCode::kUnsupported, node.name + " has another number of inputs than " + node.opType);
  std::vector<core::TensorType> types;
  for (const core::Tensor* input : inputs) types.push_back({input->dtype(), input->shape()});
  Result<std::vector<core::TensorType>> outputs = op->infer(types, node.attributes);
  if (!outputs.ok()) return Error(ErrorCode::kUnsupported, node.name + ": " + outputs.error().message());
  Asked asked;
  asked.m_node = &node;
  asked.m_inputs.assign(inputs.begin(), inputs.end());
  asked.m_outputs = std::move(*outputs);
  asked.m_slot = slot;
  asked.m_element = element;
  asked.m_state = state;
  asked.m_sink = &sink;
  if (slot >= asked.m_outputs.size() || element < 0 || element >= asked.shape().elements())
    return Error(ErrorCode::kUsage, node.name + " has no element " + std::to_string(element));
  return asked;
}

std::int64_t Asked::broadcast(std::size_t input) const {
  return core::stridedOffset(m_element, shape().dims(), core::broadcastStrides(shapeOf(input), shape()));
}

void Asked::add(double coefficient, std::initializer_list<Element> elements) const {
  Term term{.coefficient = coefficient, .contribution = coefficient};
  for (const Element& e : elements) {
    term.storage[term.count] = factor(e);
    term.contribution *= term.storage[term.count++].value;
  }
  m_sink->term(term);
}

void Asked::addValue(double contribution, Element element) const {
  Term term{.count = 1, .contribution = contribution};
  term.storage[0] = factor(element);
  m_sink->term(term);
}

void Asked::read(std::size_t input, std::int64_t element) const { m_sink->read(factor({input, element})); }

}  // namespace msdbg::replay
