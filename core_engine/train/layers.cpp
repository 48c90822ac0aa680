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
}

void checkLinear(const Value& x, const LinearOptions& options, const Where& where) {
  if (!x.valid()) fail("linear: x is an empty Value", where);
  if (x.shape().rank() != 2)
    fail("linear: x is " + x.shape().text() + " but [N, K] is needed; use flatten(x) before it", where);
  if (options.out < 1) fail("linear: .out must be given and positive", where);
}

Attributes convAttributes(const ConvOptions& o) {
  using Ints = std::vector<std::int64_t>;
  return {{"kernel_shape", Ints{o.kernel, o.kernel}},
          {"pads", Ints{o.pad, o.pad, o.pad, o.pad}},
          {"strides", Ints{o.stride, o.stride}}};
}

Initializer kaiming(std::int64_t fanIn) {
  return {Initializer::Kind::kKaimingNormal, static_cast<double>(fanIn)};
}
constexpr Initializer kZeros{Initializer::Kind::kZeros, 0};

}  // namespace

Value conv(Value x, const ConvOptions& options, Where where) {
  checkConv(x, options, where);
  Graph& graph = x.graph();
  const LayerScope layer(graph, where);
  const std::int64_t channels = x.shape()[1], kernel = options.kernel;
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
  const Value weight =
      parameter(graph, "weight", {options.out, features}, x.dtype(), kaiming(features), Where::current());
  if (!options.bias) return applyOp1("Gemm", {x, weight}, attributes, Where::current());
  const Value bias = parameter(graph, "bias", {options.out}, x.dtype(), kZeros, Where::current());
  return applyOp1("Gemm", {x, weight, bias}, attributes, Where::current());
}

}  // namespace msdbg::core
