#include "replay/diff/last_bit.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core_engine/base/philox.h"
#include "core_engine/ops/op_facts.h"
#include "core_engine/ops/reference_run.h"
#include "replay/inspect.h"
#include "watchpoints/step.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Result;
using core::Tensor;

namespace {

// A zero stays: it is padding, or what a Relu cut off.
template <typename T>
void moveByOne(std::span<T> values, const core::RandomStream& draw) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0 || !std::isfinite(values[i])) continue;
    const bool up = (draw.bits(i) & 1) != 0;
    constexpr T kInf = std::numeric_limits<T>::infinity();
    const T moved = std::nextafter(values[i], up ? kInf : -kInf);
    if (std::isfinite(moved)) values[i] = moved;
  }
}

/// The same of float16 and bfloat16, whose numbers ascend with their patterns.
void moveByOne(Tensor& tensor, const core::RandomStream& draw) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (tensor.at(i) == 0 || !std::isfinite(tensor.at(i))) continue;
    Tensor one = tensor.part(i, core::Shape{});
    std::uint16_t bits = 0;
    std::memcpy(&bits, one.raw(), sizeof bits);
    const auto was = bits;
    bits =
        static_cast<std::uint16_t>((draw.bits(static_cast<std::size_t>(i)) & 1) != 0 ? bits + 1 : bits - 1);
    std::memcpy(one.raw(), &bits, sizeof bits);
    if (!std::isfinite(one.at(0))) std::memcpy(one.raw(), &was, sizeof was);
  }
}

Tensor moved(const Tensor& tensor, const std::string& name) {
  if (core::isRounded(tensor.dtype())) {
    Tensor copy = tensor.clone();
    moveByOne(copy, core::RandomStream(0, name, 0));
    return copy;
  }
  if (!core::isComputedFloating(tensor.dtype())) return tensor;
  Tensor copy = tensor.clone();
  const core::RandomStream draw(0, name, 0);
  core::visitFloating(copy.dtype(), [&](auto type) { moveByOne(copy.data<decltype(type)>(), draw); });
  return copy;
}

Error unavailable(const core::Node& node, const std::string& why) {
  return {ErrorCode::kUnavailable, node.name + ": " + why};
}

// What is in the file may ask for any size.
core::Status checkOutputs(const core::Node& node, const std::vector<core::TensorType>& made) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 28;
  if (made.size() != node.outputs.size())
    return unavailable(node, "it does not make what its operator makes");
  for (const core::TensorType& type : made)
    if (type.shape.elements() > kMostElements) return unavailable(node, "its output is too large");
  return core::Ok{};
}

}  // namespace

Result<LastBits::Tensors> LastBits::compute(const core::Node& node, const Tensors& inputs) {
  if (m_cancel.cancelled()) return Error(ErrorCode::kCancelled, "interrupted");
  std::vector<core::TensorType> types;
  std::vector<const Tensor*> in;
  for (const Tensor& input : inputs) {
    types.push_back({input.dtype(), input.shape()});
    in.push_back(&input);
  }
  const core::OpDef& op = *core::findOp(node);
  MSDBG_ASSIGN(const std::vector<core::TensorType> made, op.infer(types, node.attributes));
  MSDBG_TRY(checkOutputs(node, made));
  Tensors outputs;
  for (const core::TensorType& type : made) outputs.push_back(Tensor::zeros(type.dtype, type.shape));
  std::vector<Tensor*> out;
  for (Tensor& output : outputs) out.push_back(&output);
  core::RunState state;
  state.iteration = m_iteration;
  state.rank = m_rank;
  state.ranks = m_run.rankCount();
  state.seed = m_run.description().seed;
  MSDBG_TRY(core::runReference(op, {node, in, out, state}));
  return outputs;
}

Result<std::vector<LastBit>> LastBits::make(const core::Node& node, const OtherInput& other) {
  const core::OpDef* op = core::findOp(node);
  if (!op || !op->reference || !op->infer || node.phase == core::Phase::kCollective ||
      !core::hasComputedDTypes(m_run.graph(), node))
    return unavailable(node, "it cannot be computed here by itself");
  Tensors inputs, movedInputs, otherInputs;
  bool known = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    MSDBG_ASSIGN(const Tensor value, m_run.value(m_rank, m_iteration, node.inputs[i]));
    inputs.push_back(value);
    movedInputs.push_back(moved(value, m_run.graph().tensor(node.inputs[i]).fullName()));
    std::optional<Tensor> theirs = other ? other(i) : std::nullopt;
    const bool fits = theirs && theirs->dtype() == value.dtype() && theirs->shape() == value.shape();
    known = known || fits;
    otherInputs.push_back(fits ? std::move(*theirs) : value);
  }
  MSDBG_ASSIGN(const Tensors plain, compute(node, inputs));
  MSDBG_ASSIGN(const Tensors byOne, compute(node, movedInputs));
  std::vector<LastBit> all;
  for (std::size_t i = 0; i < plain.size(); ++i)
    all.push_back({compareTensors(plain[i], byOne[i], m_cancel).maxAbs, std::nullopt});
  if (!known) return all;
  MSDBG_ASSIGN(const Tensors theirs, compute(node, otherInputs));
  for (std::size_t i = 0; i < plain.size(); ++i)
    all[i].propagated = compareTensors(plain[i], theirs[i], m_cancel).maxAbs;
  return all;
}

Result<std::vector<LastBit>> LastBits::of(core::Rank rank, core::Iteration iteration, core::NodeId node,
                                          const OtherInput& other) {
  if (!m_last || m_rank != rank || m_iteration != iteration || m_node != node) {
    m_rank = rank;
    m_iteration = iteration;
    m_node = node;
    m_last = make(watch::nodeOn(m_run, rank, iteration, m_run.graph().node(node)), other);
  }
  return *m_last;
}

}  // namespace msdbg::replay
