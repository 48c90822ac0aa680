// AlexNet (Krizhevsky et al., "ImageNet classification with deep convolutional neural networks", 2012), the
// variant for 32x32 colour images with 3x3 kernels. 3,831,114 parameters.
#include "core_engine/models/model_list_internal.h"
#include "core_engine/train/layers.h"

namespace msdbg::core {
namespace {

Value alexnet(Graph& g, const ModelOptions& options) {
  applyModelOptions(g, options, true);
  Value x = g.input("x", {options.batch, 3, 32, 32}, options.dtype);
  const Value label = g.input("label", {options.batch}, DType::Int64);
  {
    const Scope scope = g.scope("conv1");
    x = relu(conv(x, {.out = 64, .kernel = 3, .stride = 2, .pad = 1}));
    x = maxPool(x, {.kernel = 2});
  }
  {
    const Scope scope = g.scope("conv2");
    x = relu(conv(x, {.out = 192, .kernel = 3, .pad = 1}));
    x = maxPool(x, {.kernel = 2});
  }
  {
    const Scope scope = g.scope("conv3");
    x = relu(conv(x, {.out = 384, .kernel = 3, .pad = 1}));
  }
  {
    const Scope scope = g.scope("conv4");
    x = relu(conv(x, {.out = 256, .kernel = 3, .pad = 1}));
  }
  {
    const Scope scope = g.scope("conv5");
    x = relu(conv(x, {.out = 256, .kernel = 3, .pad = 1}));
    x = maxPool(x, {.kernel = 2});
  }
  x = flatten(x);
  {
    const Scope scope = g.scope("fc1");
    x = relu(linear(x, {.out = 1024}));
    if (options.dropout > 0) x = dropout(x, options.dropout);
  }
  {
    const Scope scope = g.scope("fc2");
    x = relu(linear(x, {.out = 512}));
    if (options.dropout > 0) x = dropout(x, options.dropout);
  }
  {
    const Scope scope = g.scope("fc3");
    x = linear(x, {.out = 10});
  }
  return softmaxCrossEntropy(x, label);
}

}  // namespace

ModelInfo alexnetModel() {
  return {.name = "alexnet",
          .doc = "AlexNet for 32x32 colour images, 3x3 kernels; --dropout P after the first two Gemms",
          .file = "core_engine/models/alexnet.cpp",
          .image = {3, 32, 32},
          .batch = 64,
          .optimizer = Sgd{.lr = 0.01, .momentum = 0.9},
          .hasDropout = true,
          .build = alexnet};
}

}  // namespace msdbg::core
