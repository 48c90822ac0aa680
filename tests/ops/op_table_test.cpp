// Walks the operator table with the reference kernels.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "core_engine/ops/op_facts.h"
#include "tests/ops/samples.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

std::string label(const Sample& s) { return s.op + ": " + s.what; }

std::size_t sampleCount(std::string_view op) {
  return static_cast<std::size_t>(
      std::count_if(samples().begin(), samples().end(), [&](const Sample& s) { return s.op == op; }));
}

double largest(const Tensor& t) {
  double most = 0;
  for (double v : valuesOf(t)) most = std::max(most, std::abs(v));
  return most;
}

/// Whether the sample runs with its data (the floating inputs; else the first) in this dtype.
bool runsWith(const Sample& s, DType dtype) {
  const SampleGraph g = buildSample(s, DType::Float32);
  const auto isData = [](const Tensor& t) { return isFloating(t.dtype()); };
  const bool anyFloating = std::ranges::any_of(g.values, isData);
  std::vector<Tensor> inputs = g.values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (anyFloating ? isData(inputs[i]) : i == 0) inputs[i] = inputs[i].cast(dtype);
  try {
    callOp(s.op, inputs, s.attributes);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

/// float32 results are those of float64 rounded (sums are kept in double), so half an ulp and a little for
/// values that were rounded on the way (Y of SgdUpdate, the momentum).
void checkClose(const Tensor& single, const Tensor& twice) {
  const double scale = largest(twice);
  for (std::int64_t i = 0; i < single.elements(); ++i)
    REQUIRE(std::abs(single.at(i) - twice.at(i)) <= 1.2e-7 * std::abs(twice.at(i)) + 1e-7 * scale);
}

}  // namespace

TEST_CASE("Every operator of the table has at least two samples") {
  for (const OpDef& op : allOps()) {
    INFO(op.name);
    CHECK(sampleCount(op.name) >= 2);
  }
}

TEST_CASE("Every operator is listed once, documented, and found by its name") {
  std::set<std::string_view> names;
  for (OpFactory factory : builtinOps()) {
    const OpDef op = factory();
    INFO(op.name);
    CHECK(names.insert(op.name).second);
    CHECK(!op.doc.empty());
    CHECK((originOf(op).since > 0) != op.doc.ends_with("msdbg"));
    CHECK(op.infer != nullptr);
    CHECK(op.reference != nullptr);
    if (op.maxInputs != kAnyNumber) CHECK(op.inputNames.size() == op.maxInputs);
    CHECK((op.maxInputs == kAnyNumber) == op.inputNames.back().ends_with("…"));
    CHECK(!op.outputNames.empty());
    REQUIRE(findOp(op.name) != nullptr);
    CHECK(findOp(op.name)->name == op.name);
  }
  CHECK(allOps().size() == names.size());
  CHECK(findOp("Convolution") == nullptr);
}

TEST_CASE("References run with the dtypes that the table names, and no operator takes another") {
  for (const OpDef& op : allOps()) {
    const auto sample = std::ranges::find(samples(), op.name, &Sample::op);
    const auto names = dataTypeNames(op);
    for (const DType dtype :
         {DType::Float32, DType::Float64, DType::Int64, DType::Int32, DType::UInt8, DType::Bool}) {
      CAPTURE(op.name, dtypeName(dtype));
      CHECK(runsWith(*sample, dtype) == (std::ranges::find(names, dtypeName(dtype)) != names.end()));
    }
  }
}

TEST_CASE("Where a definition comes from, and what its gradient is made of") {
  CHECK(originOf(*findOp("Conv")).domain == "ai.onnx");
  CHECK(originOf(*findOp("Conv")).since == 11);
  CHECK(originOf(*findOp("ReduceSum")).since == 11);
  CHECK(originOf(*findOp("ReduceSumSquare")).since == 18);
  CHECK(originOf(*findOp("ConvGradInput")).domain == "msdbg");
  CHECK(gradientOpsOf(*findOp("Conv")) == std::vector<std::string_view>{"ConvGradInput", "ConvGradWeight"});
  CHECK(gradientOpsOf(*findOp("Log")).empty());
  CHECK(gradientOpsOf(*findOp("ReduceSum")) == std::vector<std::string_view>{"ReduceSumGrad"});
}

TEST_CASE("Inferred dtypes and shapes are those that kernels fill, one name per output") {
  for (const Sample& s : samples()) {
    INFO(label(s));
    const SampleGraph g = buildSample(s, DType::Float32);
    const std::vector<Tensor> outputs = runReference(g);
    const auto& names = findOp(s.op)->outputNames;
    REQUIRE((outputs.size() <= names.size() || names.back().ends_with("…")));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      CHECK(outputs[i].shape() == g.outputs[i].shape());
      CHECK(outputs[i].dtype() == g.outputs[i].dtype());
    }
  }
}

TEST_CASE("The float32 reference agrees with the float64 reference to float32's precision") {
  for (const Sample& s : samples()) {
    INFO(label(s));
    const auto single = runReference(buildSample(s, DType::Float32));
    const auto twice = runReference(buildSample(s, DType::Float64));
    for (std::size_t i = 0; i < single.size(); ++i) checkClose(single[i], twice[i]);
  }
}

TEST_CASE("References write every element of their outputs") {
  for (const Sample& s : samples()) {
    INFO(label(s));
    const SampleGraph g = buildSample(s, DType::Float32);
    std::vector<Tensor> outputs[2];
    for (int fill : {0, 1}) {
      outputs[fill] = makeOutputs(g);
      std::vector<const Tensor*> in;
      std::vector<Tensor*> out;
      for (const Tensor& t : g.values) in.push_back(&t);
      for (Tensor& t : outputs[fill]) {
        std::fill(t.byteSpan().begin(), t.byteSpan().end(), static_cast<std::byte>(fill ? 0x7f : 0));
        out.push_back(&t);
      }
      const RunState state;
      REQUIRE(findOp(s.op)->reference({g.graph->node(g.node), in, out, state}).ok());
    }
    for (std::size_t i = 0; i < outputs[0].size(); ++i) CHECK(sameBytes(outputs[0][i], outputs[1][i]));
  }
}

TEST_CASE("References give the same bits on one, two and three threads") {
  for (const Sample& s : samples()) {
    INFO(label(s));
    const SampleGraph g = buildSample(s, DType::Float32);
    const auto one = runReference(g, {.threads = 1});
    for (int threads : {2, 3}) {
      const auto many = runReference(g, {.threads = threads});
      for (std::size_t i = 0; i < one.size(); ++i) CHECK(sameBytes(one[i], many[i]));
    }
  }
}

TEST_CASE("Multiply-adds are counted for convolutions and matrix products, twice each") {
  const auto count = [](const std::string& op, const std::string& what) {
    for (const Sample& s : samples()) {
      if (s.op != op || s.what != what) continue;
      const SampleGraph g = buildSample(s, DType::Float32);
      return findOp(op)->flops(*g.graph, g.graph->node(g.node));
    }
    return std::int64_t{-1};
  };
  CHECK(count("Conv", "padding and bias") == 2 * (2 * 4 * 5 * 7) * (3 * 3 * 3));
  CHECK(count("ConvGradInput", "odd strides and pads") == 2 * (3 * 5 * 4 * 9) * (2 * 3 * 2));
  CHECK(count("ConvGradWeight", "odd strides and pads") == 2 * (3 * 5 * 4 * 9) * (2 * 3 * 2));
  CHECK(count("Gemm", "transA") == 2 * 3 * 4 * 5);
  CHECK(count("MatMul", "batches that broadcast") == 2 * (2 * 4) * 3 * 2 * 5);
  CHECK(count("MatMul", "dot product") == 2 * 5);
  CHECK(findOp("Relu")->flops == nullptr);
}
