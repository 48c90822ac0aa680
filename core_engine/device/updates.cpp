// Updates (kernels/updates.h). Rates and counters are read where they lie.
#include "core_engine/device/kernel_factory.h"
#include "core_engine/ops/adam.h"

namespace msdbg::core::device {
namespace {

UpdateTime timeOf(const KernelArgs& args) {
  const std::int64_t every = intAttribute(args.node.attributes, "every", 1);
  return {every > 1 ? in<std::int64_t>(args, args.inputs.size() - 1) : nullptr, every};
}

}  // namespace

Backend::Answer sgdUpdateKernel(const DeviceRequest& r) {
  const Attributes& a = r.node.attributes;
  SgdParameters p{};
  p.settings = {0, floatAttribute(a, "momentum", 0), floatAttribute(a, "weight_decay", 0),
                intAttribute(a, "nesterov", 0) != 0};
  p.rateFactor = floatAttribute(a, "lr_factor", 1);
  return deviceKernel(r, [&context = r.context, p](const KernelArgs& args) mutable {
    p.p = in(args, 0), p.g = in(args, 1), p.rate = in(args, 2);
    p.next = out(args);
    if (args.outputs.size() > 1) p.state = in(args, 3), p.nextState = out(args, 1);
    p.count = args.outputs[0]->elements();
    p.time = timeOf(args);
    context.launch("sgd_update", p.count, p);
  });
}

Backend::Answer adamUpdateKernel(const DeviceRequest& r) {
  return deviceKernel(r, [&context = r.context,
                          settings = adamSettings(r.node.attributes)](const KernelArgs& args) {
    AdamParameters p{};
    p.p = in(args, 0), p.g = in(args, 1), p.rate = in(args, 2), p.mean = in(args, 3), p.square = in(args, 4);
    p.step = in<std::int64_t>(args, 5);
    p.next = out(args, 0), p.nextMean = out(args, 1), p.nextSquare = out(args, 2);
    p.count = args.outputs[0]->elements();
    p.settings = settings;
    p.time = timeOf(args);
    context.launch("adam_update", p.count, p);
  });
}

Backend::Answer accumulateGradientKernel(const DeviceRequest& r) {
  return deviceKernel(
      r, [&context = r.context, steps = intAttribute(r.node.attributes, "steps", 1)](const KernelArgs& args) {
        const std::int64_t count = args.outputs[0]->elements();
        context.launch("accumulate_gradient", count,
                       AccumulateParameters{in(args, 0), in(args, 1), in<std::int64_t>(args, 2), out(args),
                                            count, static_cast<double>(steps)});
      });
}

Backend::Answer stepUpdateKernel(const DeviceRequest& r) {
  return deviceKernel(r, [&context = r.context,
                          modulo = intAttribute(r.node.attributes, "modulo", 0)](const KernelArgs& args) {
    context.launch("step_update", 1,
                   StepParameters{in<std::int64_t>(args, 0), out<std::int64_t>(args), modulo, timeOf(args)});
  });
}

}  // namespace msdbg::core::device
