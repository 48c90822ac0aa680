// A multilayer perceptron for 28x28 images: 784-512-512-10. 669,706 parameters.
#include "core_engine/models/model_list_internal.h"
#include "core_engine/train/layers.h"

namespace msdbg::core {
namespace {

Value mlp(Graph& g, const ModelOptions& options) {
  applyModelOptions(g, options, false);
  Value x = g.input("x", {options.batch, 1, 28, 28}, options.dtype);
  const Value label = g.input("label", {options.batch}, DType::Int64);
  x = flatten(x);
  {
    const Scope scope = g.scope("fc1");
    x = relu(linear(x, {.out = 512}));
  }
  {
    const Scope scope = g.scope("fc2");
    x = relu(linear(x, {.out = 512}));
  }
  {
    const Scope scope = g.scope("fc3");
    x = linear(x, {.out = 10});
  }
  return softmaxCrossEntropy(x, label);
}

}  // namespace

ModelInfo mlpModel() {
  return {.name = "mlp",
          .doc = "multilayer perceptron, 784-512-512-10",
          .file = "core_engine/models/mlp.cpp",
          .image = {1, 28, 28},
          .batch = 256,
          .optimizer = Sgd{.lr = 0.01, .momentum = 0.9},
          .hasDropout = false,
          .build = mlp};
}

}  // namespace msdbg::core
