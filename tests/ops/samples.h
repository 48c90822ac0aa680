// Samples: at least two calls of every operator, which the harness (op_table_test, op_fast_test,
// op_gradient_test) walks. To add an operator: a row in samples.cpp and a wrong call in wrong_calls.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core_engine/ops/op.h"

namespace msdbg::test {

using Ints = std::vector<std::int64_t>;

enum class Fill {
  kNormal,          // N(0, 1), drawn in float32
  kApart,           // a shuffle of numbers 0.07 apart and off zero: no ties, no kinks near (Relu, MaxPool)
  kPositive,        // in [0.5, 1.5]
  kLogProbability,  // negative
  kLabels,          // Int64 in [0, 3)
  kIntegers,        // Int64 in [-4, 4]
  kMask,            // Bool
  kRelu,            // the positive part of kApart
  kPooled,          // MaxPool of the first input
  kReduced,         // ReduceMax of the input before, by the sample's axes
  kIndices,         // Int64 in [-3, 3)
  kHalves,          // multiples of 1/2 in [-2, 2]: many of them equal
  kRange,           // scalars 2, 15, 3 in this order
};

struct SampleInput {
  core::Shape shape;
  Fill fill = Fill::kNormal;
};

struct Sample {
  std::string op, what;
  std::vector<SampleInput> inputs;
  core::Attributes attributes = {};
  bool checkGradient = true;  // false: rounds or truncates, so differences say nothing
  // Gradients are those of the first outputs with respect to the first inputs: the others are statistics.
  std::size_t gradientInputs = SIZE_MAX, gradientOutputs = SIZE_MAX;
};

const std::vector<Sample>& samples();
std::vector<Sample> elementwiseSamples();    // samples_elementwise.cpp
std::vector<Sample> rearrangingSamples();    // samples_rearranging.cpp
std::vector<Sample> normalizationSamples();  // samples_normalization.cpp: and pools, updates

/// A graph with this one node (inputs in0, in1, … are trainable parameters where floating) and values for its
/// inputs.
struct SampleGraph {
  std::unique_ptr<core::Graph> graph;  // its address stays when this is moved: Values point to it
  std::vector<core::Value> inputs, outputs;
  std::vector<core::Tensor> values;
  core::NodeId node;
};
/// `floating` is the dtype of all floating inputs; values are the same numbers in float32 and float64. Throws
/// BuildError.
SampleGraph buildSample(const Sample& sample, core::DType floating);

/// Runs the reference kernel; throws std::runtime_error with the kernel's message when it fails.
std::vector<core::Tensor> runReference(const SampleGraph& sample, const core::RunState& state = {});
std::vector<core::Tensor> makeOutputs(const SampleGraph& sample);

/// One node outside any graph, for tests of a single kernel; throws std::runtime_error with the message of
/// infer or kernel.
std::vector<core::Tensor> callOp(const std::string& op, const std::vector<core::Tensor>& inputs,
                                 const core::Attributes& attributes = {}, const core::RunState& state = {});
core::Tensor tensorOf(core::Shape shape, const std::vector<double>& values,
                      core::DType dtype = core::DType::Float64);
core::Tensor labelsOf(const std::vector<std::int64_t>& values);
std::vector<double> valuesOf(const core::Tensor& tensor);
bool sameBytes(const core::Tensor& a, const core::Tensor& b);

/// A call that infer must refuse with a message that contains all parts.
struct WrongCall {
  std::string op;
  std::vector<core::TensorType> inputs;
  core::Attributes attributes;
  std::vector<std::string> messageParts;
};
const std::vector<WrongCall>& wrongCalls();

}  // namespace msdbg::test
