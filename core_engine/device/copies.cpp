// Identity and reshapes: bytes as they are. Transpose, Concat and Split of any dtype, and the usual casts.
#include "core_engine/device/kernel_factory.h"
#include "core_engine/ops/axis_lines.h"

namespace msdbg::core::device {

Backend::Answer copyKernel(const DeviceRequest& r) {
  return deviceKernel(
      r, [&context = r.context](const KernelArgs& args) { context.copy(*args.inputs[0], *args.outputs[0]); });
}

Backend::Answer castKernel(const DeviceRequest& r) {
  const DType from = r.input(0).dtype, to = r.output().dtype;
  if (from == to) return copyKernel(r);
  Conversion conversion{};
  if (from == DType::Float64 && to == DType::Float32)
    conversion = Conversion::kDoubleToFloat;
  else if (from == DType::Float32 && to == DType::Float64)
    conversion = Conversion::kFloatToDouble;
  else if (from == DType::UInt8 && to == DType::Float32)
    conversion = Conversion::kByteToFloat;
  else if (from == DType::Int64 && to == DType::Float32)
    conversion = Conversion::kInt64ToFloat;
  else
    return decline("a cast from " + std::string(dtypeName(from)) + " to " + std::string(dtypeName(to)) +
                   " is rare");
  return deviceKernel(r, [&context = r.context, conversion](const KernelArgs& args) {
    const std::int64_t count = args.outputs[0]->elements();
    context.launch("cast", count,
                   CastParameters{args.inputs[0]->address(), args.outputs[0]->address(), count, conversion});
  });
}

namespace {

/// Where neighbours of x lie apart in y and the other way round; nullopt: they do not, or rows are too short
/// for tiles.
std::optional<TransposeTilesParameters> transposeTiles(const JoinedDims& joined) {
  constexpr std::int64_t kShort = 8;
  const std::vector<std::int64_t>& from = joined.strides[0];
  const std::size_t last = joined.dims.size() - 1;
  const auto row = static_cast<std::size_t>(std::ranges::find(from, 1) - from.begin());
  if (joined.dims.size() < 2 || row >= last || joined.dims[row] < kShort || joined.dims[last] < kShort)
    return {};
  TransposeTilesParameters p{};
  p.rows = joined.dims[row], p.columns = joined.dims[last], p.columnFrom = from[last], p.outer = 1;
  const std::vector<std::int64_t> to = Shape(joined.dims).strides();
  p.rowTo = to[row];
  for (std::size_t d = 0; d < last; ++d) {
    if (d == row) continue;
    p.dims[p.rank] = joined.dims[d], p.from[p.rank] = from[d], p.to[p.rank] = to[d];
    p.outer *= joined.dims[d];
    ++p.rank;
  }
  return p;
}

}  // namespace

Backend::Answer transposeKernel(const DeviceRequest& r) {
  const std::size_t size = dtypeSize(r.output().dtype);
  if (size > 8) return decline("elements of " + std::to_string(size) + " bytes are rare");
  const std::vector<std::int64_t> own = r.input(0).shape.strides(),
                                  perm = intsAttribute(r.node.attributes, "perm", {});
  std::vector<std::int64_t> strides(own.rbegin(), own.rend());
  for (std::size_t d = 0; d < perm.size(); ++d) strides[d] = own[static_cast<std::size_t>(perm[d])];
  const JoinedDims joined = joinDims(r.output().shape, {strides});
  if (!joined.fits()) return decline("it has too many dimensions");
  if (const auto tiles = size == 4 && !joined.dims.empty() ? transposeTiles(joined) : std::nullopt)
    return deviceKernel(r, [&context = r.context, p = *tiles](const KernelArgs& args) mutable {
      p.x = args.inputs[0]->address();
      p.y = args.outputs[0]->address();
      const std::int64_t tiled = p.outer * ((p.rows + kTransposeTile - 1) / kTransposeTile) *
                                 ((p.columns + kTransposeTile - 1) / kTransposeTile);
      context.launch("transpose_tiles", tiled * 256, p);
    });
  TransposeParameters p{};
  p.count = r.output().shape.elements();
  p.elementBytes = static_cast<std::int32_t>(size);
  p.rank = static_cast<std::int32_t>(joined.dims.size());
  copyDims(joined.dims, p.dims);
  copyDims(joined.strides[0], p.strides);
  return deviceKernel(r, [&context = r.context, p](const KernelArgs& args) mutable {
    p.x = args.inputs[0]->address();
    p.y = args.outputs[0]->address();
    context.launch("transpose", p.count, p);
  });
}

namespace {

enum class Direction { kToWhole, kFromWhole };

/// One copy for each part of the whole along an axis.
Backend::Answer partCopies(const DeviceRequest& r, const TensorInfo& whole,
                           const std::vector<TensorId>& parts, Direction direction) {
  const std::size_t size = dtypeSize(whole.dtype);
  if (size > 8) return decline("elements of " + std::to_string(size) + " bytes are rare");
  const auto axis = checkAxis(r.node.opType, intAttribute(r.node.attributes, "axis", 0), whole.shape.rank());
  if (!axis) return decline(axis.error().message());
  std::vector<PartCopyParameters> copies;
  std::int64_t offset = 0;
  const AxisLines all = axisLines(whole.shape, *axis);
  for (const TensorId id : parts) {
    const AxisLines lines = axisLines(r.graph.tensor(id).shape, *axis);
    const std::int64_t width = lines.length * lines.inner;
    copies.push_back({nullptr, nullptr, lines.outer * width, width, all.length * all.inner, offset,
                      static_cast<std::int32_t>(size), direction == Direction::kToWhole});
    offset += width;
  }
  return deviceKernel(r, [&context = r.context, copies, direction](const KernelArgs& args) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      PartCopyParameters p = copies[i];
      p.from = args.inputs[direction == Direction::kToWhole ? i : 0]->address();
      p.to = args.outputs[direction == Direction::kToWhole ? 0 : i]->address();
      context.launch("part_copy", p.count, p);
    }
  });
}

}  // namespace

Backend::Answer concatKernel(const DeviceRequest& r) {
  return partCopies(r, r.output(), r.node.inputs, Direction::kToWhole);
}
Backend::Answer splitKernel(const DeviceRequest& r) {
  return partCopies(r, r.input(0), r.node.outputs, Direction::kFromWhole);
}

}  // namespace msdbg::core::device
