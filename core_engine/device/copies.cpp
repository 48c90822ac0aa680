// Identity and reshapes: bytes as they are. Transpose of any dtype, and the usual casts.
#include "core_engine/device/kernel_factory.h"

namespace msdbg::core::device {

Backend::Answer copyKernel(const DeviceRequest& r) {
  return deviceKernel(r, [&context = r.context](const KernelArgs& args) {
    context.copy(*args.inputs[0], *args.outputs[0]);
  });
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
    return decline("a cast from " + std::string(dtypeName(from)) + " to " + std::string(dtypeName(to)) + " is rare");
  return deviceKernel(r, [&context = r.context, conversion](const KernelArgs& args) {
    const std::int64_t count = args.outputs[0]->elements();
    context.launch("cast", count,
                   CastParameters{args.inputs[0]->address(), args.outputs[0]->address(), count, conversion});
  });
}

Backend::Answer transposeKernel(const DeviceRequest& r) {
  const std::size_t size = dtypeSize(r.output().dtype);
  if (size > 8) return decline("elements of " + std::to_string(size) + " bytes are rare");
  const std::vector<std::int64_t> own = r.input(0).shape.strides(), perm = intsAttribute(r.node.attributes, "perm", {});
  std::vector<std::int64_t> strides(own.rbegin(), own.rend());
  for (std::size_t d = 0; d < perm.size(); ++d) strides[d] = own[static_cast<std::size_t>(perm[d])];
  const JoinedDims joined = joinDims(r.output().shape, {strides});
  if (!joined.fits()) return decline("it has too many dimensions");
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

}  // namespace msdbg::core::device
