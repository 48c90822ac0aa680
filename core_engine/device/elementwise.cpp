// Element-wise operators: shapes are worked out once; kernels/elementwise.h does the rest.
#include "core_engine/device/kernel_factory.h"
#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/gelu.h"

namespace msdbg::core::device {

JoinedDims joinDims(const Shape& shape, const std::vector<std::vector<std::int64_t>>& strides) {
  JoinedDims joined;
  joined.strides.resize(strides.size());
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    bool alike = !joined.dims.empty();
    for (std::size_t k = 0; k < strides.size() && alike; ++k)
      alike = joined.strides[k].back() == strides[k][d] * shape[d];
    if (alike)
      joined.dims.back() *= shape[d];
    else
      joined.dims.push_back(shape[d]);
    for (std::size_t k = 0; k < strides.size(); ++k) {
      if (alike)
        joined.strides[k].back() = strides[k][d];
      else
        joined.strides[k].push_back(strides[k][d]);
    }
  }
  return joined;
}

namespace {

Backend::Answer unary(const DeviceRequest& r, Unary op) {
  return deviceKernel(r, [&context = r.context, op](const KernelArgs& args) {
    const std::int64_t count = args.outputs[0]->elements();
    context.launch("map", count, MapParameters{in(args, 0), out(args), count, op});
  });
}

Backend::Answer binary(const DeviceRequest& r, Binary op) {
  if (r.output().dtype != DType::Float32) return decline("its kernel computes in float32");
  const Shape &a = r.input(0).shape, &b = r.input(1).shape, &y = r.output().shape;
  CombineParameters p{};
  p.count = y.elements();
  p.op = op;
  if (a != y || b != y) {
    const JoinedDims joined = joinDims(y, {broadcastStrides(a, y), broadcastStrides(b, y)});
    if (!joined.fits()) return decline("it has too many dimensions");
    p.rank = static_cast<std::int32_t>(joined.dims.size());
    copyDims(joined.dims, p.dims);
    copyDims(joined.strides[0], p.stridesA);
    copyDims(joined.strides[1], p.stridesB);
  }
  return deviceKernel(r, [&context = r.context, p](const KernelArgs& args) mutable {
    p.a = in(args, 0);
    p.b = in(args, 1);
    p.y = out(args);
    context.launch("combine", p.count, p);
  });
}

}  // namespace

Backend::Answer reluKernel(const DeviceRequest& r) { return unary(r, Unary::kRelu); }
Backend::Answer sigmoidKernel(const DeviceRequest& r) { return unary(r, Unary::kSigmoid); }
Backend::Answer tanhKernel(const DeviceRequest& r) { return unary(r, Unary::kTanh); }
Backend::Answer expKernel(const DeviceRequest& r) { return unary(r, Unary::kExp); }
Backend::Answer logKernel(const DeviceRequest& r) { return unary(r, Unary::kLog); }
Backend::Answer sqrtKernel(const DeviceRequest& r) { return unary(r, Unary::kSqrt); }
Backend::Answer erfKernel(const DeviceRequest& r) { return unary(r, Unary::kErf); }
Backend::Answer geluKernel(const DeviceRequest& r) {
  return geluByTanh(r.node.attributes) ? decline("only the form by erf has a kernel")
                                       : unary(r, Unary::kGelu);
}
Backend::Answer addKernel(const DeviceRequest& r) { return binary(r, Binary::kAdd); }
Backend::Answer subKernel(const DeviceRequest& r) { return binary(r, Binary::kSub); }
Backend::Answer mulKernel(const DeviceRequest& r) { return binary(r, Binary::kMul); }
Backend::Answer divKernel(const DeviceRequest& r) { return binary(r, Binary::kDiv); }
Backend::Answer reluGradKernel(const DeviceRequest& r) { return binary(r, Binary::kReluGrad); }
Backend::Answer sigmoidGradKernel(const DeviceRequest& r) { return binary(r, Binary::kSigmoidGrad); }
Backend::Answer tanhGradKernel(const DeviceRequest& r) { return binary(r, Binary::kTanhGrad); }
Backend::Answer geluGradKernel(const DeviceRequest& r) {
  return geluByTanh(r.node.attributes) ? decline("only the form by erf has a kernel")
                                       : binary(r, Binary::kGeluGrad);
}

}  // namespace msdbg::core::device
