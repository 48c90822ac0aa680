// ResNet-20 for 32x32 colour images (He et al., "Deep residual learning for image recognition", 2016, section
// 4.2), with 1x1 convolutions where a shortcut changes shape. 272,474 parameters.
#include "core_engine/models/model_list_internal.h"
#include "core_engine/train/layers.h"

namespace msdbg::core {
namespace {

/// The input itself, or projected to the block's width and size.
Value shortcut(Graph& g, Value x, std::int64_t width, std::int64_t stride) {
  if (stride == 1 && x.shape()[1] == width) return x;
  const Scope scope = g.scope("shortcut");
  x = conv(x, {.out = width, .kernel = 1, .stride = stride, .bias = false});
  return batchNorm(x);
}

Value block(Graph& g, Value x, std::int64_t width, std::int64_t stride) {
  Value y = x;
  {
    const Scope scope = g.scope("conv1");
    y = conv(y, {.out = width, .kernel = 3, .stride = stride, .pad = 1, .bias = false});
    y = relu(batchNorm(y));
  }
  {
    const Scope scope = g.scope("conv2");
    y = conv(y, {.out = width, .kernel = 3, .pad = 1, .bias = false});
    y = batchNorm(y);
  }
  const Value sum = y + shortcut(g, x, width, stride);
  return relu(sum);
}

/// Three blocks of one width; the first one may halve the planes.
Value stage(Graph& g, Value x, std::int64_t width, std::int64_t stride) {
  for (int i = 1; i <= 3; ++i) {
    const Scope scope(g, "block" + std::to_string(i), std::source_location::current());
    x = block(g, x, width, i == 1 ? stride : 1);
  }
  return x;
}

Value resnet20(Graph& g, const ModelOptions& options) {
  applyModelOptions(g, options, false);
  Value x = g.input("x", {options.batch, 3, 32, 32}, options.dtype);
  const Value label = g.input("label", {options.batch}, DType::Int64);
  {
    const Scope scope = g.scope("stem");
    x = conv(x, {.out = 16, .kernel = 3, .pad = 1, .bias = false});
    x = relu(batchNorm(x));
  }
  {
    const Scope scope = g.scope("stage1");
    x = stage(g, x, 16, 1);
  }
  {
    const Scope scope = g.scope("stage2");
    x = stage(g, x, 32, 2);
  }
  {
    const Scope scope = g.scope("stage3");
    x = stage(g, x, 64, 2);
  }
  {
    const Scope scope = g.scope("head");
    x = flatten(globalAveragePool(x));
    x = linear(x, {.out = 10});
  }
  return softmaxCrossEntropy(x, label);
}

}  // namespace

ModelInfo resnet20Model() {
  return {.name = "resnet20",
          .doc = "ResNet-20 for 32x32 colour images, batch normalisation, 1x1 shortcuts",
          .file = "core_engine/models/resnet20.cpp",
          .image = {3, 32, 32},
          .batch = 64,
          .optimizer = Sgd{.lr = 0.01, .momentum = 0.9},
          .build = resnet20};
}

}  // namespace msdbg::core
