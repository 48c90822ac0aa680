// Gather and its gradient (kernels/gather.h).
#include "core_engine/device/kernel_factory.h"
#include "core_engine/ops/axis_lines.h"
#include "core_engine/ops/indices.h"

namespace msdbg::core::device {
namespace {

Result<AxisLines> linesOf(const DeviceRequest& r, const Shape& data) {
  MSDBG_ASSIGN(const std::size_t axis,
               checkAxis(r.node.opType, intAttribute(r.node.attributes, "axis", 0), data.rank()));
  return axisLines(data, axis);
}

/// The indices are looked at again on the host.
DeviceContext::Explain indicesOf(const DeviceRequest& r, std::shared_ptr<const Tensor*> indices,
                                 std::int64_t size) {
  return [&context = r.context, &graph = r.graph, node = r.node.id, indices, size]() -> Status {
    MSDBG_ASSIGN(const Tensor host, onHost(**indices, context));
    const auto read = readIndices(graph.node(node), host, size);
    return read.ok() ? Status(Ok{}) : read.error();
  };
}

}  // namespace

Backend::Answer gatherKernel(const DeviceRequest& r) {
  const auto lines = linesOf(r, r.input(0).shape);
  if (!lines) return decline(lines.error().message());
  const std::size_t size = dtypeSize(r.output().dtype);
  if (size > 8) return decline("elements of " + std::to_string(size) + " bytes are rare");
  GatherParameters p{};
  p.outer = lines->outer, p.size = lines->length, p.inner = lines->inner;
  p.count = r.input(1).shape.elements();
  p.elementBytes = static_cast<std::int32_t>(size);
  p.wideIndices = r.input(1).dtype == DType::Int64;
  const auto indices = std::make_shared<const Tensor*>();
  p.alarm = r.context.addAlarm(r.node.id, indicesOf(r, indices, p.size));
  return deviceKernel(r, [&context = r.context, p, indices](const KernelArgs& args) mutable {
    *indices = args.inputs[1];
    p.data = args.inputs[0]->address();
    p.indices = args.inputs[1]->address();
    p.y = args.outputs[0]->address();
    context.launch("gather", args.outputs[0]->elements(), p);
  });
}

Backend::Answer gatherGradKernel(const DeviceRequest& r) {
  const auto lines = linesOf(r, r.output().shape);
  if (!lines) return decline(lines.error().message());
  GatherGradParameters p{};
  p.outer = lines->outer, p.size = lines->length, p.inner = lines->inner;
  p.count = r.input(1).shape.elements();
  p.wideIndices = r.input(1).dtype == DType::Int64;
  const auto bytes = static_cast<std::size_t>(p.count) * sizeof(std::int64_t);
  r.context.reserve(2 * bytes);
  const auto indices = std::make_shared<const Tensor*>();
  p.alarm = r.context.addAlarm(r.node.id, indicesOf(r, indices, p.size));
  return deviceKernel(r, [&context = r.context, p, bytes, indices](const KernelArgs& args) mutable {
    *indices = args.inputs[1];
    p.dy = in(args, 0);
    p.indices = args.inputs[1]->address();
    p.dx = out(args);
    p.order = context.work<std::int64_t>();
    p.sorted = context.work<std::int64_t>(bytes);
    context.launch("gather_order", p.count, p);
    context.launch("gather_grad", args.outputs[0]->elements(), p);
  });
}

}  // namespace msdbg::core::device
