// Reductions (kernels/reductions.h): plans are those of the CPU (core_engine/cpu/reduce.cpp).
#include "core_engine/device/kernel_factory.h"
#include "core_engine/ops/reduction.h"

namespace msdbg::core::device {
namespace {

constexpr std::int64_t kWideRows = 16;  // from here on its tiles are not mostly empty

Tensor onDevice(DeviceContext& context, const Ints& values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  Tensor device = context.zeros(DType::Int64, shape);
  context.upload(Tensor::of<std::int64_t>(shape, values), device);
  return device;
}

Backend::Answer reduceInner(const DeviceRequest& r, const ReductionPlan& plan, double divisor, bool squares) {
  InnerReductionParameters p{};
  p.results = plan.results();
  p.offsets = static_cast<std::int64_t>(plan.reducedOffsets.size());
  p.runLength = plan.runLength;
  p.piecesOfRun = (plan.runLength + kReductionPiece - 1) / kReductionPiece;
  p.divisor = divisor;
  p.squares = squares;
  p.keptRank = static_cast<std::int32_t>(plan.keptDims.size());
  copyDims(plan.keptDims, p.keptDims);
  copyDims(plan.keptStrides, p.keptStrides);
  const std::int64_t pieces = p.results * p.offsets * p.piecesOfRun;
  r.context.reserve(static_cast<std::size_t>(pieces) * sizeof(double));
  return deviceKernel(r,
                      [&context = r.context, p, pieces,
                       offsets = onDevice(r.context, plan.reducedOffsets)](const KernelArgs& args) mutable {
                        p.x = in(args, 0);
                        p.y = out(args);
                        p.pieces = context.work<double>();
                        p.offsetsAt = reinterpret_cast<const std::int64_t*>(offsets.address());
                        context.launch("inner_pieces", pieces * kGroup, p);
                        context.launch("inner_fold", p.results, p);
                      });
}

Backend::Answer reduceOuter(const DeviceRequest& r, const ReductionPlan& plan, double divisor) {
  OuterReductionParameters p{};
  p.results = plan.results();
  p.offsets = static_cast<std::int64_t>(plan.reducedOffsets.size());
  p.runLength = plan.runLength;
  p.runStride = plan.runStride;
  p.width = plan.keptDims.back();  // runs that are no columns end with a reduced dimension
  p.divisor = divisor;
  p.keptRank = static_cast<std::int32_t>(plan.keptDims.size());
  copyDims(plan.keptDims, p.keptDims);
  copyDims(plan.keptStrides, p.keptStrides);
  return deviceKernel(r, [&context = r.context, p, offsets = onDevice(r.context, plan.reducedOffsets)](
                             const KernelArgs& args) mutable {
    p.x = in(args, 0);
    p.y = out(args);
    p.offsetsAt = reinterpret_cast<const std::int64_t*>(offsets.address());
    if (p.width < kWideRows) return context.launch("outer_reduction", p.results, p);
    context.launch("column_sums",
                   p.results / p.width * ((p.width + kTileColumns - 1) / kTileColumns) * kTileThreads, p);
  });
}

Backend::Answer reduce(const DeviceRequest& r, const std::vector<bool>& reduced, bool mean, bool squares) {
  const ReductionPlan plan = planReduction(r.input(0).shape, reduced);
  if (plan.keptDims.size() > kMostDims) return decline("it has too many dimensions");
  const double divisor = mean ? static_cast<double>(plan.reducedCount()) : 1;
  if (plan.runStride == 1) return reduceInner(r, plan, divisor, squares);
  return squares ? decline("the innermost dimension is not reduced") : reduceOuter(r, plan, divisor);
}

Backend::Answer reduceAxes(const DeviceRequest& r, bool mean, bool squares) {
  const auto reduced = reducedAxes(r.node.opType, r.node.attributes, r.input(0).shape.rank());
  return reduced ? reduce(r, *reduced, mean, squares) : decline(reduced.error().message());
}

Backend::Answer spread(const DeviceRequest& r, bool mean) {
  const Shape& full = r.output().shape;
  const auto reduced = reducedAxes(r.node.opType, r.node.attributes, full.rank());
  if (!reduced) return decline(reduced.error().message());
  Ints strides(full.rank(), 0);
  std::int64_t stride = 1, count = 1;
  for (std::size_t d = full.rank(); d-- > 0;) {
    if ((*reduced)[d]) {
      count *= full[d];
    } else {
      strides[d] = stride;
      stride *= full[d];
    }
  }
  const JoinedDims joined = joinDims(full, {strides});
  if (!joined.fits()) return decline("it has too many dimensions");
  SpreadParameters p{};
  p.count = full.elements();
  p.divisor = mean ? static_cast<double>(count) : 1;
  p.rank = static_cast<std::int32_t>(joined.dims.size());
  copyDims(joined.dims, p.dims);
  copyDims(joined.strides[0], p.strides);
  return deviceKernel(r, [&context = r.context, p](const KernelArgs& args) mutable {
    p.dy = in(args, 0);
    p.dx = out(args);
    context.launch("spread", p.count, p);
  });
}

}  // namespace

Backend::Answer reduceSumKernel(const DeviceRequest& r) { return reduceAxes(r, false, false); }
Backend::Answer reduceMeanKernel(const DeviceRequest& r) { return reduceAxes(r, true, false); }
Backend::Answer reduceSumSquareKernel(const DeviceRequest& r) { return reduceAxes(r, false, true); }
Backend::Answer globalAveragePoolKernel(const DeviceRequest& r) {
  std::vector<bool> reduced(r.input(0).shape.rank(), true);
  reduced[0] = reduced[1] = false;
  return reduce(r, reduced, true, false);
}
Backend::Answer reduceSumGradKernel(const DeviceRequest& r) { return spread(r, false); }
Backend::Answer reduceMeanGradKernel(const DeviceRequest& r) { return spread(r, true); }

}  // namespace msdbg::core::device
