// Dropout and its gradient (kernels/dropout.h).
#include "core_engine/ops/dropout.h"

#include "core_engine/base/philox.h"
#include "core_engine/device/kernel_factory.h"

namespace msdbg::core::device {

Backend::Answer dropoutKernel(const DeviceRequest& r) {
  const double ratio = dropRatio(r.node.attributes);
  return deviceKernel(
      r, [&context = r.context, ratio, iteration = r.context.iteration()](const KernelArgs& args) {
        const RunState& state = args.state;
        const RandomStream random(state.seed, args.node.name, state.iteration.value);
        const std::int64_t count = args.outputs[0]->elements();
        const DropoutParameters p{in(args, 0),
                                  out(args, 0),
                                  out<bool>(args, 1),
                                  count,
                                  state.rank.value * count,
                                  ratio,
                                  keptScale(ratio),
                                  random.key()[0],
                                  random.key()[1],
                                  iteration,
                                  random.nameLow(),
                                  state.training};
        context.launch("dropout", count, p);
      });
}

Backend::Answer dropoutGradKernel(const DeviceRequest& r) {
  return deviceKernel(
      r, [&context = r.context, scale = keptScale(dropRatio(r.node.attributes))](const KernelArgs& args) {
        const std::int64_t count = args.outputs[0]->elements();
        context.launch("dropout_grad", count,
                       DropoutGradParameters{in(args, 0), in<bool>(args, 1), out(args), count, scale});
      });
}

}  // namespace msdbg::core::device
