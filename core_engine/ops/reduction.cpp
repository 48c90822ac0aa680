#include "core_engine/ops/reduction.h"

#include "core_engine/ops/broadcast.h"

namespace msdbg::core {
namespace {

struct Dim {
  std::int64_t size, stride;
  bool reduced;
};

/// Neighbouring dimensions of one kind become one: a row-major tensor is contiguous across them.
std::vector<Dim> mergedDims(const Shape& shape, const std::vector<bool>& reduced) {
  const Ints strides = shape.strides();
  std::vector<Dim> dims;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (!dims.empty() && dims.back().reduced == reduced[d])
      dims.back() = {dims.back().size * shape[d], strides[d], reduced[d]};
    else
      dims.push_back({shape[d], strides[d], reduced[d]});
  }
  return dims;
}

/// Every offset so far, followed by itself plus each step of one more inner dimension.
Ints expanded(const Ints& offsets, const Dim& dim) {
  Ints out;
  out.reserve(offsets.size() * static_cast<std::size_t>(dim.size));
  for (std::int64_t offset : offsets)
    for (std::int64_t i = 0; i < dim.size; ++i) out.push_back(offset + i * dim.stride);
  return out;
}

}  // namespace

ReductionPlan planOf(const KernelArgs& args, const Shape& full) {
  return planReduction(full, reducedAxes("", args.node.attributes, full.rank()).value());
}

std::int64_t ReductionPlan::results() const { return Shape(keptDims).elements(); }
std::int64_t ReductionPlan::begin(std::int64_t result) const {
  return stridedOffset(result, keptDims, keptStrides);
}

ReductionPlan planReduction(const Shape& shape, const std::vector<bool>& reduced) {
  ReductionPlan plan;
  std::vector<Dim> inner;
  for (const Dim& d : mergedDims(shape, reduced)) {
    if (d.reduced) {
      inner.push_back(d);
    } else {
      plan.keptDims.push_back(d.size);
      plan.keptStrides.push_back(d.stride);
    }
  }
  plan.reducedOffsets = {0};
  if (inner.empty()) return plan;
  plan.runLength = inner.back().size;
  plan.runStride = inner.back().stride;
  inner.pop_back();
  for (const Dim& d : inner) plan.reducedOffsets = expanded(plan.reducedOffsets, d);
  return plan;
}

Result<std::vector<bool>> reducedAxes(std::string_view op, const Attributes& attributes, std::size_t rank) {
  const Ints axes = intsAttribute(attributes, "axes", {});
  const bool all = axes.empty() && intAttribute(attributes, "noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(rank, all);
  for (std::int64_t axis : axes) {
    MSDBG_ASSIGN(const std::size_t d, checkAxis(op, axis, rank));
    if (reduced[d]) return inferError(op, "attribute axes names dimension " + std::to_string(d) + " twice");
    reduced[d] = true;
  }
  return reduced;
}

Shape reducedShape(const Shape& shape, const std::vector<bool>& reduced, const Attributes& attributes) {
  const bool keepdims = intAttribute(attributes, "keepdims", 1) != 0;
  Ints dims;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (!reduced[d]) dims.push_back(shape[d]);
    if (reduced[d] && keepdims) dims.push_back(1);
  }
  return Shape(std::move(dims));
}

Result<std::vector<TensorType>> inferReduction(std::string_view op, InputTypes inputs,
                                               const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(op, inputs, {"X"}));
  MSDBG_ASSIGN(const std::vector<bool> reduced, reducedAxes(op, attributes, inputs[0].shape.rank()));
  return std::vector<TensorType>{{inputs[0].dtype, reducedShape(inputs[0].shape, reduced, attributes)}};
}

Gradients reductionGradient(GradientBuilder& b, std::string_view opType) {
  return unaryGradient(b, opType, {}, with(b.forward().attributes, "shape", b.input(0).shape()));
}

Status reduceInput(const KernelArgs& args, bool mean) {
  return reduceBy(args, planOf(args, args.inputs[0]->shape()), mean);
}

Status reduceBy(const KernelArgs& args, const ReductionPlan& plan, bool mean) {
  const double divisor = mean ? static_cast<double>(plan.reducedCount()) : 1.0;
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = args.inputs[0]->data<T>().data();
    const auto y = args.outputs[0]->data<T>();
    parallelFor(plan.results(), args.state.threads, 8, [&](std::int64_t result) {
      double sum = 0;
      const T* from = x + plan.begin(result);
      for (std::int64_t offset : plan.reducedOffsets)
        for (std::int64_t i = 0; i < plan.runLength; ++i) sum += from[offset + i * plan.runStride];
      y[result] = static_cast<T>(sum / divisor);
    });
  });
  return Ok{};
}

Result<std::vector<TensorType>> inferReductionGrad(std::string_view op, InputTypes inputs,
                                                   const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(op, inputs, {"dY", "X"}, 1));
  const Shape x = inputs.size() > 1 ? inputs[1].shape : Shape(intsAttribute(attributes, "shape", {}));
  if (!x.known())
    return inferError(op, "attribute shape is " + x.text() + ", but known dimensions were expected");
  MSDBG_ASSIGN(const std::vector<bool> reduced, reducedAxes(op, attributes, x.rank()));
  MSDBG_TRY(checkShape(op, "dY", inputs[0], reducedShape(x, reduced, attributes)));
  return std::vector<TensorType>{{inputs[0].dtype, x}};
}

Status spreadInput(const KernelArgs& args, bool mean) {
  const ReductionPlan plan = planOf(args, args.outputs[0]->shape());
  const double divisor = mean ? static_cast<double>(plan.reducedCount()) : 1.0;
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto dy = args.inputs[0]->data<T>();
    T* dx = args.outputs[0]->data<T>().data();
    parallelFor(plan.results(), args.state.threads, 8, [&](std::int64_t result) {
      const T value = static_cast<T>(dy[result] / divisor);
      T* to = dx + plan.begin(result);
      for (std::int64_t offset : plan.reducedOffsets)
        for (std::int64_t i = 0; i < plan.runLength; ++i) to[offset + i * plan.runStride] = value;
    });
  });
  return Ok{};
}

std::vector<AttributeDoc> reductionAttributes(bool withShape) {
  std::vector<AttributeDoc> docs{
      {"axes", "ints", "all", "dimensions to reduce; negative counts from the end"},
      {"keepdims", "int", "1", "1: reduced dimensions stay, with size 1"},
      {"noop_with_empty_axes", "int", "0", "1: without axes nothing is reduced"}};
  if (withShape) docs.push_back({"shape", "ints", "that of X", "the shape of X, where X is not given"});
  return docs;
}

}  // namespace msdbg::core
