// LeNet-5 (LeCun et al., "Gradient-based learning applied to document recognition", 1998) with ReLU and max
// pooling, for 28x28 images. 61,706 parameters.
#include "core_engine/models/model_list_internal.h"
#include "core_engine/train/layers.h"

namespace msdbg::core {
namespace {

Value lenet5(Graph& g, const ModelOptions& options) {
  applyModelOptions(g, options, false);
  Value x = g.input("x", {options.batch, 1, 28, 28}, options.dtype);
  const Value label = g.input("label", {options.batch}, DType::Int64);
  {
    const Scope scope = g.scope("conv1");
    x = relu(conv(x, {.out = 6, .kernel = 5, .pad = 2}));
    x = maxPool(x, {.kernel = 2});
  }
  {
    const Scope scope = g.scope("conv2");
    x = relu(conv(x, {.out = 16, .kernel = 5}));
    x = maxPool(x, {.kernel = 2});
  }
  x = flatten(x);
  {
    const Scope scope = g.scope("fc1");
    x = relu(linear(x, {.out = 120}));
  }
  {
    const Scope scope = g.scope("fc2");
    x = relu(linear(x, {.out = 84}));
  }
  {
    const Scope scope = g.scope("fc3");
    x = linear(x, {.out = 10});
  }
  return softmaxCrossEntropy(x, label);
}

}  // namespace

ModelInfo lenet5Model() {
  return {.name = "lenet5",
          .doc = "LeNet-5 with ReLU and max pooling, 28x28 gray images",
          .file = "core_engine/models/lenet5.cpp",
          .image = {1, 28, 28},
          .batch = 64,
          .optimizer = Sgd{.lr = 0.01, .momentum = 0.9},
          .hasDropout = false,
          .build = lenet5};
}

}  // namespace msdbg::core
