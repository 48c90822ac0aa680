// What ReduceSum, ReduceMean and their gradients share. A plan splits a row-major tensor into kept dimensions
// (one result each) and reduced ones, which are walked in row-major order, sums in double: the same bits on
// any thread count.
#pragma once

#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {

struct ReductionPlan {
  Ints keptDims, keptStrides;                 // of the results, outermost first
  Ints reducedOffsets;                        // of the outer reduced dimensions, in row-major order
  std::int64_t runLength = 1, runStride = 1;  // of the innermost reduced dimension
  std::int64_t results() const;
  std::int64_t reducedCount() const { return static_cast<std::int64_t>(reducedOffsets.size()) * runLength; }
  std::int64_t begin(std::int64_t result) const;  // offset of the first element of a result
};

/// reduced[d]: whether dimension d is summed over.
ReductionPlan planReduction(const Shape& shape, const std::vector<bool>& reduced);
/// reduced[d] for every dimension, from attribute `axes` (none: all); kUsage for an axis outside the rank or
/// named twice.
Result<std::vector<bool>> reducedAxes(std::string_view op, const Attributes& attributes, std::size_t rank);
/// The shape after reduction, by attribute `keepdims` (default 1).
Shape reducedShape(const Shape& shape, const std::vector<bool>& reduced, const Attributes& attributes);

/// ReduceSum and ReduceMean.
Result<std::vector<TensorType>> inferReduction(std::string_view op, InputTypes inputs,
                                               const Attributes& attributes);
Gradients reductionGradient(GradientBuilder& b, std::string_view opType);
/// The sum, or the mean, of every result.
Status reduceInput(const KernelArgs& args, bool mean);
Status reduceBy(const KernelArgs& args, const ReductionPlan& plan, bool mean);

/// f(result index, offsets of its elements in row-major order as a callable: each(g) calls g(offset)).
template <typename F>
void forResults(const ReductionPlan& plan, int threads, const F& f) {
  parallelFor(plan.results(), threads, 8, [&](std::int64_t result) {
    const std::int64_t begin = plan.begin(result);
    f(result, [&plan, begin](const auto& g) {
      for (std::int64_t offset : plan.reducedOffsets)
        for (std::int64_t i = 0; i < plan.runLength; ++i) g(begin + offset + i * plan.runStride);
    });
  });
}
/// The plan of a node that reduces a tensor of shape `full` by its attributes, which infer has checked.
ReductionPlan planOf(const KernelArgs& args, const Shape& full);

/// ReduceSumGrad and ReduceMeanGrad: dX has the shape of the second input, else of attribute `shape`.
Result<std::vector<TensorType>> inferReductionGrad(std::string_view op, InputTypes inputs,
                                                   const Attributes& attributes);
Status spreadInput(const KernelArgs& args, bool mean);
std::vector<AttributeDoc> reductionAttributes(bool withShape);

}  // namespace msdbg::core
