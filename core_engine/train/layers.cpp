#include "core_engine/train/layers.h"

namespace msdbg::core {
namespace {

[[noreturn]] void fail(const std::string& what, const Where& where) {
  throw BuildError(what + " (" + frameFrom(where).file + ":" + std::to_string(where.line()) + ")");
}

void checkConv(const Value& x, const ConvOptions& options, const Where& where) {
  if (!x.valid()) fail("conv: x is an empty Value", where);
  if (x.shape().rank() != 4) fail("conv: x is " + x.shape().text() + " but [N, C, H, W] is needed", where);
  if (options.out < 1) fail("conv: .out must be given and positive", where);
  if (options.kernel < 1 || options.stride < 1 || options.pad < 0)
    fail("conv: .kernel and .stride must be positive and .pad not negative", where);
  if (options.group < 1 || options.dilation < 1 || x.shape()[1] % options.group != 0 ||
      options.out % options.group != 0)
    fail("conv: .dilation must be positive, .group a divisor of the channels and of .out", where);
}

void checkLinear(const Value& x, const LinearOptions& options, const Where& where) {
  if (!x.valid()) fail("linear: x is an empty Value", where);
  if (x.shape().rank() != 2)
    fail("linear: x is " + x.shape().text() + " but [N, K] is needed; use flatten(x) before it", where);
  if (options.out < 1) fail("linear: .out must be given and positive", where);
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

Initializer kaiming(std::int64_t fanIn) {
  return {Initializer::Kind::kKaimingNormal, static_cast<double>(fanIn)};
}
/// Normal with this standard deviation: what Kaiming's is for a fan-in of 2 / deviation^2.
Initializer normal(double deviation) {
  return {Initializer::Kind::kKaimingNormal, 2 / (deviation * deviation)};
}
constexpr Initializer kZeros{Initializer::Kind::kZeros, 0};
constexpr Initializer kOnes{Initializer::Kind::kConstant, 1};

/// A source that training changes without a gradient, by the batches of its own rank.
Value state(Graph& graph, const std::string& name, Shape shape, DType dtype, Initializer initializer) {
  const Value v = parameter(graph, name, std::move(shape), dtype, initializer, Where::current());
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
  const Value weight = parameter(graph, "weight", {options.out, channels, kernel, kernel}, x.dtype(),
                                 kaiming(channels * kernel * kernel), Where::current());
  if (!options.bias) return applyOp1("Conv", {x, weight}, convAttributes(options), Where::current());
  const Value bias = parameter(graph, "bias", {options.out}, x.dtype(), kZeros, Where::current());
  return applyOp1("Conv", {x, weight, bias}, convAttributes(options), Where::current());
}

Value linear(Value x, const LinearOptions& options, Where where) {
  checkLinear(x, options, where);
  Graph& graph = x.graph();
  const LayerScope layer(graph, where);
  const std::int64_t features = x.shape()[1];
  const Attributes attributes = {{"transB", std::int64_t{1}}};
  const Initializer drawn = options.deviation > 0 ? normal(options.deviation) : kaiming(features);
  const Value weight =
      parameter(graph, "weight", {options.out, features}, x.dtype(), drawn, Where::current());
  if (!options.bias) return applyOp1("Gemm", {x, weight}, attributes, Where::current());
  const Value bias = parameter(graph, "bias", {options.out}, x.dtype(), kZeros, Where::current());
  return applyOp1("Gemm", {x, weight, bias}, attributes, Where::current());
}

Value batchNorm(Value x, const BatchNormOptions& options, Where where) {
  if (!x.valid()) fail("batchNorm: x is an empty Value", where);
  if (x.shape().rank() < 2) fail("batchNorm: x is " + x.shape().text() + " but [N, C, ...] is needed", where);
  Graph& graph = x.graph();
  const LayerScope layer(graph, where);
  const Shape channels{x.shape()[1]};
  const Value scale = parameter(graph, "scale", channels, x.dtype(), kOnes, Where::current());
  const Value bias = parameter(graph, "bias", channels, x.dtype(), kZeros, Where::current());
  const Value mean = state(graph, "running_mean", channels, x.dtype(), kZeros);
  const Value variance = state(graph, "running_var", channels, x.dtype(), kOnes);
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
  if (!x.valid()) fail("layerNorm: x is an empty Value", where);
  if (x.shape().rank() < 1) fail("layerNorm: x is a scalar, but at least one dimension is needed", where);
  Graph& graph = x.graph();
  const LayerScope layer(graph, where);
  const Shape row{x.shape()[x.shape().rank() - 1]};
  const Value scale = parameter(graph, "scale", row, x.dtype(), kOnes, Where::current());
  const Value bias = parameter(graph, "bias", row, x.dtype(), kZeros, Where::current());
  return applyOp1("LayerNormalization", {x, scale, bias}, {{"epsilon", epsilon}}, Where::current());
}

Value embedding(Value ids, const EmbeddingOptions& options, Where where) {
  if (!ids.valid()) fail("embedding: ids is an empty Value", where);
  if (options.count < 1 || options.width < 1)
    fail("embedding: .count and .width must be given and positive", where);
  if (!(options.deviation > 0)) fail("embedding: .deviation must be positive", where);
  Graph& graph = ids.graph();
  const LayerScope layer(graph, where);
  const Value weight = parameter(graph, "weight", {options.count, options.width}, graph.floatingDType(),
                                 normal(options.deviation), Where::current());
  return applyOp1("Gather", {weight, ids}, {}, Where::current());
}

}  // namespace msdbg::core
