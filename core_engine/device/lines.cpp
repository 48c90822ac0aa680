// What works along rows (kernels/lines.h).
#include "core_engine/device/kernel_factory.h"
#include "core_engine/ops/axis_lines.h"
#include "core_engine/ops/labels.h"
#include "core_engine/ops/layer_norm.h"

namespace msdbg::core::device {
namespace {

Backend::Answer alongLines(const DeviceRequest& r, const char* kernel) {
  const Shape& shape = r.output().shape;
  const auto axis = checkAxis(r.node.opType, intAttribute(r.node.attributes, "axis", -1), shape.rank());
  if (!axis) return decline(axis.error().message());
  const AxisLines lines = axisLines(shape, *axis);
  if (lines.inner != 1)
    return decline("axis " + std::to_string(*axis) + " of " + shape.text() + " is not the innermost one");
  return deviceKernel(r, [&context = r.context, lines, kernel](const KernelArgs& args) {
    const LineParameters p{in(args, 0), args.inputs.size() > 1 ? in(args, 1) : nullptr, out(args),
                           lines.outer, lines.length};
    context.launch(kernel, lines.outer * kGroup, p);
  });
}

/// The labels are looked at again on the host.
DeviceContext::Explain labelsOf(const DeviceRequest& r, std::shared_ptr<const Tensor*> labels,
                                std::int64_t classes) {
  return [&context = r.context, &graph = r.graph, node = r.node.id, labels, classes]() -> Status {
    MSDBG_ASSIGN(const Tensor host, onHost(**labels, context));
    return checkLabels(graph.node(node), host, classes);
  };
}

}  // namespace

Backend::Answer softmaxKernel(const DeviceRequest& r) { return alongLines(r, "softmax"); }
Backend::Answer softmaxGradKernel(const DeviceRequest& r) { return alongLines(r, "softmax_grad"); }
Backend::Answer logSoftmaxKernel(const DeviceRequest& r) { return alongLines(r, "log_softmax"); }
Backend::Answer logSoftmaxGradKernel(const DeviceRequest& r) { return alongLines(r, "log_softmax_grad"); }

Backend::Answer layerNormKernel(const DeviceRequest& r) {
  const auto rows = normalRows(r.node.opType, r.input(0).shape, r.node.attributes);
  if (!rows) return decline(rows.error().message());
  const double epsilon = floatAttribute(r.node.attributes, "epsilon", 1e-5);
  const bool shifted = r.hasInput(2);
  return deviceKernel(r, [&context = r.context, n = *rows, epsilon, shifted](const KernelArgs& args) {
    const LayerNormParameters p{in(args, 0),  in(args, 1),  shifted ? in(args, 2) : nullptr,
                                out(args, 0), out(args, 1), out(args, 2),
                                n.rows,       n.length,     epsilon};
    context.launch("layer_norm", n.rows * kGroup, p);
  });
}

Backend::Answer layerNormGradKernel(const DeviceRequest& r) {
  const auto rows = normalRows(r.node.opType, r.input(1).shape, r.node.attributes);
  if (!rows) return decline(rows.error().message());
  const std::int64_t sums = (rows->rows + kNormBlockRows - 1) / kNormBlockRows * 2 * rows->length;
  r.context.reserve(static_cast<std::size_t>(sums) * sizeof(double));
  return deviceKernel(r, [&context = r.context, n = *rows, sums](const KernelArgs& args) {
    const LayerNormGradParameters p{in(args, 0),  in(args, 1),  in(args, 2),
                                    in(args, 3),  in(args, 4),  out(args, 0),
                                    out(args, 1), out(args, 2), context.work<double>(),
                                    n.rows,       n.length};
    context.launch("layer_norm_grad", n.rows * kGroup, p);
    context.launch("layer_norm_columns", sums / 2, p);
    context.launch("layer_norm_fold", n.length, p);
  });
}

Backend::Answer crossEntropyKernel(const DeviceRequest& r) {
  const Shape shape = r.input(0).shape;
  if (shape.rank() != 2) return decline("logits are " + shape.text() + "; the kernel takes [rows, classes]");
  const auto labels = std::make_shared<const Tensor*>();
  std::int64_t* alarm = r.context.addAlarm(r.node.id, labelsOf(r, labels, shape[1]));
  return deviceKernel(r, [&context = r.context, shape, labels, alarm](const KernelArgs& args) {
    *labels = args.inputs[1];
    const CrossEntropyParameters p{
        in(args, 0), in<std::int64_t>(args, 1), out(args, 0), out(args, 1), shape[0], shape[1], alarm};
    context.launch("cross_entropy", shape[0] * kGroup, p);
    context.launch("mean_loss", 1, p);
  });
}

Backend::Answer crossEntropyGradKernel(const DeviceRequest& r) {
  const Shape shape = r.input(0).shape;
  if (shape.rank() != 2) return decline("logits are " + shape.text() + "; the kernel takes [rows, classes]");
  const auto labels = std::make_shared<const Tensor*>();
  std::int64_t* alarm = r.context.addAlarm(r.node.id, labelsOf(r, labels, shape[1]));
  return deviceKernel(r, [&context = r.context, shape, labels, alarm](const KernelArgs& args) {
    *labels = args.inputs[1];
    const CrossEntropyGradParameters p{
        in(args, 0), in<std::int64_t>(args, 1), in(args, 2), out(args, 0), shape[0], shape[1], alarm};
    context.launch("cross_entropy_grad", shape.elements(), p);
  });
}

}  // namespace msdbg::core::device
