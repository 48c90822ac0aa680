#include "core_engine/train/layers.h"

#include "core_engine/graph/precision.h"
#include "core_engine/train/build_mistake.h"

namespace msdbg::core {
namespace {

void checkConv(const Value& x, const ConvOptions& options, const Where& where) {
  if (!x.valid()) buildMistake("conv: x is an empty Value", where);
  if (x.shape().rank() != 4)
    buildMistake("conv: x is " + x.shape().text() + " but [N, C, H, W] is needed", where);
  if (options.out < 1) buildMistake("conv: .out must be given and positive", where);
  if (options.kernel < 1 || options.stride < 1 || options.pad < 0)
    buildMistake("conv: .kernel and .stride must be positive and .pad not negative", where);
  if (options.group < 1 || options.dilation < 1 || x.shape()[1] % options.group != 0 ||
      options.out % options.group != 0)
    buildMistake("conv: .dilation must be positive, .group a divisor of the channels and of .out", where);
}

void checkLinear(const Value& x, const LinearOptions& options, const Where& where) {
  if (!x.valid()) buildMistake("linear: x is an empty Value", where);
  if (x.shape().rank() != 2)
    buildMistake("linear: x is " + x.shape().text() + " but [N, K] is needed; use flatten(x) before it",
                 where);
  if (options.out < 1) buildMistake("linear: .out must be given and positive", where);
  if (options.init && options.deviation != 0)
    buildMistake("linear: .init and .deviation both say what the weights begin with; give one", where);
}

Attributes convAttributes(const ConvOptions& o) {
  using Ints = std::vector<std::int64_t>;
  Attributes attributes{{"kernel_shape", Ints{o.kernel, o.kernel}},
                        {"pads", Ints{o.pad, o.pad, o.pad, o.pad}},
                        {"strides", Ints{o.stride, o.stride}}};
  if (o.dilation != 1) attributes["dilations"] = Ints{o.dilation, o.dilation};
  if (o.group != 1) attributes["group"] = o.group;
  return attributes;
}

/// The options that a user may give as .deviation or as .init.
Init weightInit(const LinearOptions& options) {
  if (options.init) return *options.init;
  return options.deviation > 0 ? Init::normal(options.deviation) : Init::kaimingNormal();
}

/// A parameter of the open layer. What is wrong with its initial values is the caller's mistake.
Value weightOf(Graph& graph, const char* name, Shape shape, DType dtype, const Init& init,
               const Where& where = Where::current()) {
  return parameter(graph, name, std::move(shape), dtype, init, where);
}

/// A source that training changes without a gradient, by the batches of its own rank.
Value state(Graph& graph, const char* name, Shape shape, DType dtype, const Init& init) {
  const Value v = weightOf(graph, name, std::move(shape), dtype, init);
  TensorInfo& info = graph.tensor(v.id());
  info.role = TensorRole::kOptimizerState;
  info.trainable = false;
  info.replicated = false;
  return v;
}

/// The output is the state's value at the next iteration.
void updates(Graph& graph, const Value& output, const Value& state) {
  TensorInfo& info = graph.tensor(output.id());
  info.role = TensorRole::kUpdated;
  info.updateOf = state.id();
  graph.setAlias(output.id(), "next(" + state.info().name + ")");
}

}  // namespace

Value conv(Value x, const ConvOptions& options, Where where) {
  checkConv(x, options, where);
  Graph& graph = x.graph();
  const LayerScope layer(graph, where);
  const std::int64_t channels = x.shape()[1] / options.group, kernel = options.kernel;
  const Value weight =
      weightOf(graph, "weight", {options.out, channels, kernel, kernel}, parameterDType(x), options.init);
  if (!options.bias) return applyOp1("Conv", {x, weight}, convAttributes(options), Where::current());
  const Value bias = weightOf(graph, "bias", {options.out}, parameterDType(x), options.biasInit);
  return applyOp1("Conv", {x, weight, bias}, convAttributes(options), Where::current());
}

Value linear(Value x, const LinearOptions& options, Where where) {
  checkLinear(x, options, where);
  Graph& graph = x.graph();
  const LayerScope layer(graph, where);
  const std::int64_t features = x.shape()[1];
  const Attributes attributes = {{"transB", std::int64_t{1}}};
  const Value weight =
      weightOf(graph, "weight", {options.out, features}, parameterDType(x), weightInit(options));
  if (!options.bias) return applyOp1("Gemm", {x, weight}, attributes, Where::current());
  const Value bias = weightOf(graph, "bias", {options.out}, parameterDType(x), options.biasInit);
  return applyOp1("Gemm", {x, weight, bias}, attributes, Where::current());
}

Value batchNorm(Value x, const BatchNormOptions& options, Where where) {
  if (!x.valid()) buildMistake("batchNorm: x is an empty Value", where);
  if (x.shape().rank() < 2)
    buildMistake("batchNorm: x is " + x.shape().text() + " but [N, C, ...] is needed", where);
  Graph& graph = x.graph();
  const LayerScope layer(graph, where);
  const Shape channels{x.shape()[1]};
  const Value scale = weightOf(graph, "scale", channels, parameterDType(x), Init::ones());
  const Value bias = weightOf(graph, "bias", channels, parameterDType(x), Init::zeros());
  const Value mean = state(graph, "running_mean", channels, parameterDType(x), Init::zeros());
  const Value variance = state(graph, "running_var", channels, parameterDType(x), Init::ones());
  const std::vector<Value> inputs{x, scale, bias, mean, variance};
  const std::vector<Value> outputs = applyOp(
      "BatchNormalization", inputs,
      {{"epsilon", options.epsilon}, {"momentum", options.momentum}, {"training_mode", std::int64_t{1}}},
      Where::current());
  updates(graph, outputs[1], mean);
  updates(graph, outputs[2], variance);
  return outputs[0];
}

Value layerNorm(Value x, double epsilon, Where where) {
  if (!x.valid()) buildMistake("layerNorm: x is an empty Value", where);
  if (x.shape().rank() < 1)
    buildMistake("layerNorm: x is a scalar, but at least one dimension is needed", where);
  Graph& graph = x.graph();
  const LayerScope layer(graph, where);
  const Shape row{x.shape()[x.shape().rank() - 1]};
  const Value scale = weightOf(graph, "scale", row, parameterDType(x), Init::ones());
  const Value bias = weightOf(graph, "bias", row, parameterDType(x), Init::zeros());
  return applyOp1("LayerNormalization", {x, scale, bias}, {{"epsilon", epsilon}}, Where::current());
}

Value groupNorm(Value x, const GroupNormOptions& options, Where where) {
  if (!x.valid()) buildMistake("groupNorm: x is an empty Value", where);
  if (x.shape().rank() < 2)
    buildMistake("groupNorm: x is " + x.shape().text() + " but [N, C, ...] is needed", where);
  if (options.groups < 1 || x.shape()[1] % options.groups != 0)
    buildMistake(
        "groupNorm: .groups must be given, a divisor of the " + std::to_string(x.shape()[1]) + " channels",
        where);
  Graph& graph = x.graph();
  const LayerScope layer(graph, where);
  const Shape channels{x.shape()[1]};
  const Value scale = weightOf(graph, "scale", channels, parameterDType(x), Init::ones());
  const Value bias = weightOf(graph, "bias", channels, parameterDType(x), Init::zeros());
  return applyOp1("GroupNormalization", {x, scale, bias},
                  {{"num_groups", options.groups}, {"epsilon", options.epsilon}}, Where::current());
}

Value embedding(Value ids, const EmbeddingOptions& options, Where where) {
  if (!ids.valid()) buildMistake("embedding: ids is an empty Value", where);
  if (options.count < 1 || options.width < 1)
    buildMistake("embedding: .count and .width must be given and positive", where);
  if (!(options.deviation > 0)) buildMistake("embedding: .deviation must be positive", where);
  if (options.init && options.deviation != 1)
    buildMistake("embedding: .init and .deviation both say what the rows begin with; give one", where);
  Graph& graph = ids.graph();
  const LayerScope layer(graph, where);
  const Value weight = weightOf(graph, "weight", {options.count, options.width}, graph.floatingDType(),
                                options.init.value_or(Init::normal(options.deviation)));
  return applyOp1("Gather", {weight, ids}, {}, Where::current());
}

}  // namespace msdbg::core
