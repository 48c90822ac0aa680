// What holds for all kernels of the fast backend: declining, repeatability, thread counts, facts about the
// machine.
#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "core_engine/cpu/kernel_factory.h"
#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

using Ints = std::vector<std::int64_t>;
const Attributes kPad1{{"pads", Ints{1, 1, 1, 1}}};
const Attributes kPool2{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};

Attributes withInts(Attributes a, const std::string& name, Ints value) {
  a[name] = std::move(value);
  return a;
}

Tensor labels64() {
  Tensor t(DType::Int64, {64});
  for (std::int64_t i = 0; i < 64; ++i) t.data<std::int64_t>()[static_cast<std::size_t>(i)] = i % 10;
  return t;
}

/// A node of every kernel family, large enough that several threads take part.
std::vector<OneNode> sampleNodes() {
  const Tensor x = numbers({16, 32, 12, 12}, 1), w = numbers({48, 32, 3, 3}, 2),
               dy = numbers({16, 48, 12, 12}, 3);
  const Tensor pooled = fast({"MaxPool", {x}, kPool2});
  const Tensor a = numbers({300, 700}, 4), b = numbers({700, 300}, 5);
  return {
      {"Conv", {x, w, numbers({48}, 6)}, kPad1},
      {"ConvGradInput", {dy, w}, withInts(kPad1, "shape", {16, 32, 12, 12})},
      {"ConvGradWeight", {dy, x}, withInts(kPad1, "kernel_shape", {3, 3})},
      {"MaxPool", {x}, kPool2},
      {"MaxPoolGrad", {x, pooled, numbers(pooled.shape(), 7)}, kPool2},
      {"Gemm", {a, b, numbers({300}, 8)}},
      {"Gemm", {a, a, numbers({300, 300}, 8)}, {{"transB", std::int64_t{1}}, {"alpha", 0.5}}},
      {"MatMul", {numbers({4, 60, 70}, 1), numbers({4, 70, 80}, 2)}},
      {"Add", {a, numbers({700}, 9)}},
      {"Tanh", {a}},
      {"ReluGrad", {a, a}},
      {"Softmax", {a}},
      {"LogSoftmax", {a}},
      {"SoftmaxCrossEntropyLoss", {numbers({64, 1000}, 1), labels64()}},
      {"ReduceSum", {a}},
      {"ReduceSum", {a}, {{"axes", Ints{0}}}},
      {"ReduceMean", {x}, {{"axes", Ints{0, 2, 3}}}},
      {"Transpose", {a}},
      {"Reshape", {a}, {{"shape", Ints{-1}}}},
      {"Dropout", {a}},
      {"SgdUpdate", {a, a, Tensor::scalar(0.1f), a}, {{"momentum", 0.9}}},
  };
}

/// Copies in memory of their own, so that a second run reads and writes at other addresses.
OneNode moved(const OneNode& node) {
  OneNode copy{node.opType, {}, node.attributes};
  for (const Tensor& t : node.inputs) copy.inputs.push_back(t.clone());
  return copy;
}

}  // namespace

TEST_CASE("Every fast kernel repeats its bits for one thread count, wherever its tensors lie") {
  for (const OneNode& node : sampleNodes()) {
    for (int threads : {1, 2, 3}) {
      CAPTURE(node.opType, threads);
      const Ran first = runFast(node, threads);
      INFO(first.declined);
      REQUIRE_FALSE(first.kernel.empty());
      std::vector<Tensor> shift;  // shifts what the allocator hands out next
      for (int again = 0; again < 4; ++again) {
        shift.emplace_back(DType::UInt8, Shape{64 * (again + 1) + 64 * 1021 * (again % 2)});
        const Ran second = runFast(moved(node), threads);
        for (std::size_t i = 0; i < first.outputs.size(); ++i)
          REQUIRE(sameBits(first.outputs[i], second.outputs[i]));
      }
    }
  }
}

TEST_CASE("Our own kernels give the same bits on 1, 2 and 3 threads") {
  for (const OneNode& node : sampleNodes()) {
    const Ran one = runFast(node, 1);
    if (one.kernel.compare(0, 4, "cpu:") != 0) continue;  // oneDNN promises that for one thread count only
    for (int threads : {2, 3}) {
      CAPTURE(node.opType, threads);
      const Ran more = runFast(node, threads);
      for (std::size_t i = 0; i < one.outputs.size(); ++i) CHECK(sameBits(one.outputs[i], more.outputs[i]));
    }
  }
}

TEST_CASE("Kernels of one backend share work memory without disturbing each other") {
  const auto backend = makeCpuBackend();
  const OneNode small{"Conv", {numbers({1, 3, 5, 5}, 1), numbers({4, 3, 3, 3}, 2)}, kPad1};
  const OneNode large{"Conv", {numbers({8, 32, 20, 20}, 1), numbers({64, 32, 3, 3}, 2)}, kPad1};
  const Tensor expectedSmall = fast(small), expectedLarge = fast(large);

  Graph graph("network");
  struct Compiled {
    const OneNode* node;
    NodeId id;
    std::unique_ptr<KernelImpl> kernel;
  };
  std::vector<Compiled> compiled;
  for (const OneNode* node : {&small, &large}) {
    std::vector<TensorId> inputs;
    for (const Tensor& t : node->inputs) {
      TensorInfo info;
      info.name = "network/in" + std::to_string(graph.tensors().size());
      info.shape = t.shape();
      inputs.push_back(graph.addSource(info));
    }
    TensorInfo output;
    output.shape = node == &small ? expectedSmall.shape() : expectedLarge.shape();
    const NodeId id = graph.addNode("Conv", "network", Phase::kForward, inputs, kPad1, {output}, {});
    compiled.push_back({node, id, backend->compile(graph, graph.node(id), 2).kernel});
  }
  for (int round = 0; round < 3; ++round)
    for (Compiled& c : compiled) {
      const Tensor& expected = c.node == &small ? expectedSmall : expectedLarge;
      Tensor y(DType::Float32, expected.shape());
      const Tensor* in[] = {&c.node->inputs[0], &c.node->inputs[1]};
      Tensor* out[] = {&y};
      const RunState state = stateWith(2);
      REQUIRE(c.kernel->run({graph.node(c.id), in, out, state}).ok());
      CHECK(sameBits(y, expected));
    }
}

TEST_CASE("A kernel leaves the OpenMP thread count of its caller alone") {
  const int before = omp_get_max_threads();
  fast({"Gemm", {numbers({40, 50}, 1), numbers({50, 60}, 2)}}, before + 2);
  CHECK(omp_get_max_threads() == before);
}

TEST_CASE("Kernels decline float64 and say why") {
  for (const OneNode& node : sampleNodes()) {
    if (node.opType == "Transpose" || node.opType == "Reshape") continue;  // they move any dtype
    OneNode doubles = node;
    for (Tensor& t : doubles.inputs)
      if (isFloating(t.dtype())) t = t.cast(DType::Float64);
    const Ran ran = runFast(doubles);
    CAPTURE(node.opType);
    CHECK(ran.kernel.empty());
    CHECK(ran.declined == "network/in0:0 is float64; the fast kernel computes in float32");
  }
}

TEST_CASE("The backend declines operators it does not have, and empty tensors") {
  Graph graph("network");
  TensorInfo x;
  x.name = "network/x";
  x.shape = {0, 4};
  const TensorId input = graph.addSource(x);
  const NodeId empty = graph.addNode("Relu", "network", Phase::kForward, {input}, {}, {x}, {});
  const NodeId unknown = graph.addNode("Einsum", "network", Phase::kForward, {input}, {}, {x}, {});
  const auto backend = makeCpuBackend();
  CHECK(backend->compile(graph, graph.node(empty), 1).declined == "network/x:0 is empty");
  CHECK(backend->compile(graph, graph.node(unknown), 1).declined == "there is no fast kernel for Einsum");
}

TEST_CASE("Every operator has a fast kernel, but for collectives and what the built-in models hardly need") {
  // Of these the reference kernels run: copies of whole rows, or little work in any model so far.
  const std::set<std::string_view> left = {"Abs",
                                           "AbsGrad",
                                           "Allreduce",
                                           "And",
                                           "ArgMax",
                                           "AveragePool",
                                           "AveragePoolGrad",
                                           "Clip",
                                           "ClipGrad",
                                           "Concat",
                                           "Cos",
                                           "Elu",
                                           "EluGrad",
                                           "Equal",
                                           "ErfGrad",
                                           "Expand",
                                           "Gather",
                                           "GatherGrad",
                                           "Greater",
                                           "GreaterOrEqual",
                                           "GroupNormalization",
                                           "GroupNormalizationGrad",
                                           "HardSigmoid",
                                           "HardSigmoidGrad",
                                           "HardSwish",
                                           "HardSwishGrad",
                                           "LeakyRelu",
                                           "LeakyReluGrad",
                                           "Less",
                                           "LessOrEqual",
                                           "Max",
                                           "Min",
                                           "Neg",
                                           "Not",
                                           "OneHot",
                                           "Or",
                                           "Pad",
                                           "PadGrad",
                                           "Pow",
                                           "Range",
                                           "ReduceMax",
                                           "ReduceMaxGrad",
                                           "ReduceMin",
                                           "ReduceMinGrad",
                                           "Sin",
                                           "Slice",
                                           "SliceGrad",
                                           "Softplus",
                                           "Split",
                                           "StepUpdate",
                                           "Trilu",
                                           "Where",
                                           "Xor"};
  for (const OpDef& op : allOps()) {
    const auto rows = cpu::builtinKernels();
    const bool listed =
        std::any_of(rows.begin(), rows.end(), [&](const cpu::KernelRow& r) { return r.opType == op.name; });
    CAPTURE(std::string(op.name));
    CHECK(listed != left.contains(op.name));
  }
}

TEST_CASE("cpuInfo names the processor, its vector features and oneDNN") {
  const CpuInfo info = cpuInfo();
  CHECK_FALSE(info.model.empty());
  CHECK_THAT(info.dnnlVersion, Catch::StartsWith("2.") || Catch::StartsWith("3."));
  CHECK_FALSE(info.dnnlIsa.empty());
#if defined(__x86_64__)
  const bool listed = std::find(info.features.begin(), info.features.end(), "avx2") != info.features.end();
  CHECK(listed == static_cast<bool>(__builtin_cpu_supports("avx2")));
#endif
}
