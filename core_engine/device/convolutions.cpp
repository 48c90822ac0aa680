// Conv and its gradients by the device's library.
#include "core_engine/device/kernel_factory.h"
#include "core_engine/ops/window.h"

namespace msdbg::core::device {
namespace {

Backend::Answer convolution(const DeviceRequest& r, ConvolutionShape::What what, const Shape& x,
                            const Shape& weight) {
  const auto window = makeWindow(r.node.opType, r.node.attributes, x[2], x[3], weight[2], weight[3]);
  if (!window) return decline(window.error().message());
  const Window& w = *window;
  ConvolutionShape shape;
  shape.what = what;
  shape.images = x[0], shape.channels = x[1], shape.inH = x[2], shape.inW = x[3];
  shape.outputs = weight[0], shape.kernelH = weight[2], shape.kernelW = weight[3];
  shape.outH = w.outH, shape.outW = w.outW;
  shape.padTop = w.padTop, shape.padLeft = w.padLeft, shape.padBottom = w.padBottom,
  shape.padRight = w.padRight;
  shape.strideH = w.strideH, shape.strideW = w.strideW;
  shape.dilationH = w.dilationH, shape.dilationW = w.dilationW;
  shape.groups = intAttribute(r.node.attributes, "group", 1);
  shape.bias = what == ConvolutionShape::What::kForward && r.hasInput(2);
  std::string why;
  std::shared_ptr<Operation> operation = r.context.device().convolution(shape, why);
  if (!operation) return decline(std::move(why));
  return deviceKernel(
      r,
      [operation](const KernelArgs& args) {
        std::vector<const void*> inputs;
        for (const Tensor* input : args.inputs) inputs.push_back(input->address());
        operation->run(inputs, args.outputs[0]->address());
      },
      operation->implementation());
}

}  // namespace

Backend::Answer convKernel(const DeviceRequest& r) {
  return convolution(r, ConvolutionShape::What::kForward, r.input(0).shape, r.input(1).shape);
}
Backend::Answer convGradInputKernel(const DeviceRequest& r) {
  return convolution(r, ConvolutionShape::What::kInputGradient, r.output().shape, r.input(1).shape);
}
Backend::Answer convGradWeightKernel(const DeviceRequest& r) {
  return convolution(r, ConvolutionShape::What::kWeightGradient, r.input(1).shape, r.output().shape);
}

}  // namespace msdbg::core::device
