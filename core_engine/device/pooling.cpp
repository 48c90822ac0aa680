// MaxPool and its gradient (kernels/pooling.h).
#include "core_engine/device/kernel_factory.h"
#include "core_engine/ops/window.h"

namespace msdbg::core::device {
namespace {

Backend::Answer pool(const DeviceRequest& r, const char* kernel, bool gradient) {
  const Shape& x = r.input(0).shape;
  if (x.rank() != 4) return decline("X is " + x.text() + "; the kernel takes [N, C, H, W]");
  const auto window = makeWindow(r.node.opType, r.node.attributes, x[2], x[3]);
  if (!window) return decline(window.error().message());
  if (window->dilationH != 1 || window->dilationW != 1) return decline("dilated windows are rare");
  const Window& w = *window;
  PoolParameters p{};
  p.planes = x[0] * x[1];
  p.inH = w.inH, p.inW = w.inW, p.outH = w.outH, p.outW = w.outW;
  p.kernelH = w.kernelH, p.kernelW = w.kernelW, p.strideH = w.strideH, p.strideW = w.strideW;
  p.padTop = w.padTop, p.padLeft = w.padLeft;
  return deviceKernel(r, [&context = r.context, p, kernel, gradient](const KernelArgs& args) mutable {
    p.x = in(args, 0);
    if (gradient)
      p.dy = in(args, 2), p.dx = out(args);
    else
      p.y = out(args);
    context.launch(kernel, args.outputs[0]->elements(), p);
  });
}

}  // namespace

Backend::Answer maxPoolKernel(const DeviceRequest& r) { return pool(r, "max_pool", false); }
Backend::Answer maxPoolGradKernel(const DeviceRequest& r) { return pool(r, "max_pool_grad", true); }

}  // namespace msdbg::core::device
