#include "watchpoints/conditions/given_values.h"

#include <algorithm>

#include "core_engine/ops/op_facts.h"
#include "core_engine/ops/reference_run.h"

namespace msdbg::watch {

using core::Tensor;
using core::TensorInfo;
using core::TensorRole;

static constexpr std::int64_t kMostElements = 1 << 22;
static constexpr int kMostDepth = 32;  // of operators one behind the other

std::optional<Tensor> GivenValues::of(core::TensorId tensor) { return find(tensor, 0); }

std::optional<Tensor> GivenValues::find(core::TensorId tensor, int depth) {
  if (const auto known = m_known.find(tensor); known != m_known.end()) return known->second;
  const TensorInfo& info = m_source.graph().tensor(tensor);
  std::optional<Tensor> value;
  if (depth < kMostDepth && info.shape.known() && info.shape.elements() <= kMostElements)
    value = info.isSource() ? sourceValue(info) : compute(info, depth);
  return m_known.emplace(tensor, std::move(value)).first->second;
}

std::optional<Tensor> GivenValues::sourceValue(const TensorInfo& info) {
  using Kind = core::Initializer::Kind;
  const Kind kind = info.initializer.kind;
  if (info.role == TensorRole::kInput || info.role == TensorRole::kLabel) {
    core::Result<Tensor> value = m_source.value(m_rank, m_iteration, info.id);
    if (value && value->shape() == info.shape) return std::move(*value);
    return std::nullopt;
  }
  if (info.dtype == core::DType::Unsupported) return std::nullopt;
  if (info.role != TensorRole::kConstant || (kind != Kind::kConstant && kind != Kind::kZeros))
    return std::nullopt;
  Tensor value = Tensor::zeros(core::DType::Float64, info.shape);
  std::ranges::fill(value.data<double>(), kind == Kind::kConstant ? info.initializer.value : 0);
  return value.cast(info.dtype);
}

std::optional<Tensor> GivenValues::compute(const TensorInfo& info, int depth) {
  const core::Node& node = m_source.graph().node(info.producer);
  const core::OpDef* op = core::findOp(node);
  if (!op || !op->reference || node.phase != core::Phase::kForward || node.opType == "Dropout" ||
      node.outputs.size() != 1 || !core::hasComputedDTypes(m_source.graph(), node))
    return std::nullopt;
  std::vector<Tensor> inputs;
  for (const core::TensorId input : node.inputs) {
    std::optional<Tensor> value = find(input, depth + 1);
    if (!value) return std::nullopt;
    inputs.push_back(std::move(*value));
  }
  std::vector<const Tensor*> in;
  for (const Tensor& each : inputs) in.push_back(&each);
  Tensor output = Tensor::zeros(info.dtype, info.shape);
  Tensor* const out[] = {&output};
  const core::RunState state;
  if (!core::runReference(*op, {node, in, out, state}).ok()) return std::nullopt;
  return output;
}

}  // namespace msdbg::watch
