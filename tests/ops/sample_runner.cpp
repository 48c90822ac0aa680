#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>

#include "core_engine/ops/op.h"
#include "tests/ops/samples.h"

namespace msdbg::test {
namespace {

using core::DType;
using core::Shape;
using core::Tensor;

/// Float32 numbers, so that both dtypes hold the same ones.
Tensor floating(const Shape& shape, DType dtype, const std::function<double(std::int64_t)>& at) {
  Tensor t(DType::Float32, shape);
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(at(i));
  return t.cast(dtype);
}

template <typename T>
Tensor filled(const Shape& shape, const std::function<double(std::int64_t)>& at) {
  Tensor t(core::kDTypeOf<T>, shape);
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.data<T>()[static_cast<std::size_t>(i)] = static_cast<T>(at(i));
  return t;
}

std::vector<double> shuffledApart(std::int64_t count, std::mt19937& random) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = 0.035 + 0.07 * static_cast<double>(i - count / 2);
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

Tensor makeInput(const SampleInput& input, DType dtype, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  const auto apart = shuffledApart(input.shape.elements(), random);
  switch (input.fill) {
    case Fill::kPositive:
      return floating(input.shape, dtype, [&](auto) { return uniform(random); });
    case Fill::kLogProbability:
      return floating(input.shape, dtype, [&](auto) { return -uniform(random); });
    case Fill::kApart:
      return floating(input.shape, dtype, [&](std::int64_t i) { return apart[static_cast<std::size_t>(i)]; });
    case Fill::kRelu:
      return floating(input.shape, dtype,
                      [&](std::int64_t i) { return std::max(0.0, apart[static_cast<std::size_t>(i)]); });
    case Fill::kLabels:
      return filled<std::int64_t>(input.shape, [&](auto) { return random() % 3; });
    case Fill::kIntegers:
      return filled<std::int64_t>(input.shape, [&](auto) { return static_cast<double>(random() % 9) - 4; });
    case Fill::kIndices:
      return filled<std::int64_t>(input.shape, [&](auto) { return static_cast<double>(random() % 6) - 3; });
    case Fill::kHalves:
      return floating(input.shape, dtype, [&](auto) { return 0.5 * static_cast<double>(random() % 9) - 2; });
    case Fill::kMask:
      return filled<bool>(input.shape, [&](auto) { return random() % 2; });
    case Fill::kNormal:
    case Fill::kPooled:
    case Fill::kReduced:
    case Fill::kRange:
      break;
  }
  return floating(input.shape, dtype, [&](auto) { return normal(random); });
}

core::Value addInput(core::Graph& graph, std::size_t index, const Tensor& value) {
  core::TensorInfo info;
  info.name = "in" + std::to_string(index);
  info.dtype = value.dtype();
  info.shape = value.shape();
  info.trainable = core::isFloating(value.dtype());
  info.role = info.trainable ? core::TensorRole::kParameter : core::TensorRole::kInput;
  return {graph, graph.addSource(std::move(info))};
}

std::vector<Tensor> runKernel(const core::Node& node, const std::vector<Tensor>& inputs,
                              std::vector<Tensor> outputs, const core::RunState& state) {
  std::vector<const Tensor*> in;
  std::vector<Tensor*> out;
  for (const Tensor& t : inputs) in.push_back(&t);
  for (Tensor& t : outputs) out.push_back(&t);
  const core::Status status = core::findOp(node.opType)->reference({node, in, out, state});
  if (!status.ok()) throw std::runtime_error(status.error().message());
  return outputs;
}

}  // namespace

/// Inputs that follow from those before them, and all others.
static Tensor sampleValue(const Sample& sample, const std::vector<Tensor>& before, const SampleInput& input,
                          DType dtype, std::mt19937& random) {
  if (input.fill == Fill::kPooled) return callOp("MaxPool", {before[0]}, sample.attributes)[0];
  if (input.fill == Fill::kReduced) return callOp("ReduceMax", {before.back()}, sample.attributes)[0];
  constexpr double kRange[] = {2, 15, 3};
  if (input.fill == Fill::kRange) return tensorOf(Shape{}, {kRange[before.size()]}, dtype);
  return makeInput(input, dtype, random);
}

SampleGraph buildSample(const Sample& sample, DType dtype) {
  SampleGraph s{std::make_unique<core::Graph>("network", dtype), {}, {}, {}, {}};
  std::mt19937 random(20240611);
  for (const SampleInput& input : sample.inputs) {
    s.values.push_back(sampleValue(sample, s.values, input, dtype, random));
    s.inputs.push_back(addInput(*s.graph, s.inputs.size(), s.values.back()));
  }
  s.outputs = core::applyOp(sample.op, s.inputs, sample.attributes, std::source_location::current());
  s.node = s.outputs[0].info().producer;
  return s;
}

std::vector<Tensor> makeOutputs(const SampleGraph& s) {
  std::vector<Tensor> outputs;
  for (const core::Value& v : s.outputs) outputs.emplace_back(v.dtype(), v.shape());
  return outputs;
}

std::vector<Tensor> runReference(const SampleGraph& s, const core::RunState& state) {
  return runKernel(s.graph->node(s.node), s.values, makeOutputs(s), state);
}

std::vector<Tensor> callOp(const std::string& op, const std::vector<Tensor>& inputs,
                           const core::Attributes& attributes, const core::RunState& state) {
  std::vector<core::TensorType> types;
  for (const Tensor& t : inputs) types.push_back({t.dtype(), t.shape()});
  const auto inferred = core::findOp(op)->infer(types, attributes);
  if (!inferred.ok()) throw std::runtime_error(inferred.error().message());
  std::vector<Tensor> outputs;
  for (const core::TensorType& type : *inferred) outputs.emplace_back(type.dtype, type.shape);
  core::Node node;
  node.name = "network/" + op + "-op1";
  node.opType = op;
  node.attributes = attributes;
  return runKernel(node, inputs, std::move(outputs), state);
}

Tensor tensorOf(Shape shape, const std::vector<double>& values, DType dtype) {
  return Tensor::of<double>(std::move(shape), values).cast(dtype);
}

Tensor labelsOf(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

std::vector<double> valuesOf(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(tensor.at(i));
  return values;
}

bool sameBytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

}  // namespace msdbg::test
