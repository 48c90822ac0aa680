#include "tests/cpu/kernel_harness.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "core_engine/base/philox.h"
#include "core_engine/runtime/layout_adapter.h"

namespace msdbg::test {

using namespace core;

namespace {

std::vector<TensorType> typesOf(const std::vector<Tensor>& tensors) {
  std::vector<TensorType> types;
  for (const Tensor& t : tensors) types.push_back({t.dtype(), t.shape()});
  return types;
}

TensorInfo infoOf(const TensorType& type) {
  TensorInfo info;
  info.dtype = type.dtype;
  info.shape = type.shape;
  return info;
}

NodeId addOneNode(Graph& graph, const OneNode& node) {
  const OpDef* op = findOp(node.opType);
  REQUIRE(op != nullptr);
  const auto types = typesOf(node.inputs);
  auto inferred = op->infer(types, node.attributes);
  INFO((inferred.ok() ? "" : inferred.error().message()));
  REQUIRE(inferred.ok());
  std::vector<TensorId> inputs;
  for (const TensorType& type : types) {
    TensorInfo info = infoOf(type);
    info.name = "network/in" + std::to_string(inputs.size());
    info.role = TensorRole::kInput;
    inputs.push_back(graph.addSource(info));
  }
  std::vector<TensorInfo> outputs;
  for (const TensorType& type : *inferred) outputs.push_back(infoOf(type));
  return graph.addNode(node.opType, "network", Phase::kForward, inputs, node.attributes, outputs, {});
}

/// Every tensor that the backend takes so in channels of 16.
Layouts blockedPorts(const Backend& backend, const Graph& graph, const Node& node) {
  Layouts layouts(graph.tensors().size(), Layout::kRowMajor);
  const LayoutPorts ports = backend.layouts(graph, node);
  for (const std::vector<TensorId>* ids : {&ports.each, &ports.alike})
    for (const TensorId id : *ids) layouts[id.index()] = Layout::kChannels16;
  return layouts;
}

enum class Way { kWhole, kBlocked, kInParts };

/// A group of one node as a kernel.
class GroupOfOne : public KernelImpl {
 public:
  explicit GroupOfOne(std::unique_ptr<GroupKernel> group) : m_group(std::move(group)) {}
  std::string name() const override { return m_group->name(); }
  Status run(const KernelArgs& args) override { return m_group->run(std::span(&args, 1), true); }

 private:
  std::unique_ptr<GroupKernel> m_group;
};

Backend::Answer compileInParts(Backend& backend, const Graph& graph, const Node& node, int threads,
                               const Layouts& layouts) {
  const GroupMember member{node.id, std::vector(node.inputs.size(), GroupMember::kFromMemory)};
  auto group = backend.compileGroup(graph, std::span(&member, 1), threads, layouts);
  if (!group) return {nullptr, "it does not work in parts"};
  return {std::make_unique<GroupOfOne>(std::move(group)), ""};
}

Ran runOn(Backend& backend, const OneNode& node, const RunState& state, Way way = Way::kWhole) {
  Graph graph("network");
  const Node& n = graph.node(addOneNode(graph, node));
  const Layouts layouts = way == Way::kBlocked ? blockedPorts(backend, graph, n) : Layouts{};
  Backend::Answer answer = way == Way::kInParts ? compileInParts(backend, graph, n, state.threads, layouts)
                                                : backend.compile(graph, n, state.threads, layouts);
  if (!answer.kernel) return {{}, "", answer.declined};
  Ran ran{{}, answer.kernel->name(), ""};
  std::vector<const Tensor*> inputs;
  std::vector<Tensor*> outputs;
  std::vector<Tensor> given = node.inputs;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (layoutOf(layouts, n.inputs[i]) == Layout::kChannels16) {
      ++ran.blocked;
      Tensor lying(given[i].dtype(), given[i].shape());
      toChannels16(given[i], lying, 1);
      given[i] = lying;
    }
  for (const Tensor& t : given) inputs.push_back(&t);
  for (TensorId id : n.outputs) ran.outputs.emplace_back(graph.tensor(id).dtype, graph.tensor(id).shape);
  for (Tensor& t : ran.outputs) {
    std::memset(t.raw(), t.dtype() == DType::Bool ? 0 : 0xFF, t.bytes());
    outputs.push_back(&t);
  }
  const Status status = answer.kernel->run({n, inputs, outputs, state});
  INFO((status.ok() ? "" : status.error().message()));
  REQUIRE(status.ok());
  for (std::size_t i = 0; i < ran.outputs.size(); ++i)
    if (layoutOf(layouts, n.outputs[i]) == Layout::kChannels16) {
      ++ran.blocked;
      Tensor shown(ran.outputs[i].dtype(), ran.outputs[i].shape());
      toRowMajor(ran.outputs[i], shown, 1);
      ran.outputs[i] = shown;
    }
  return ran;
}

}  // namespace

RunState stateWith(int threads) {
  RunState state;
  state.threads = threads;
  return state;
}

Ran runFast(const OneNode& node, const RunState& state) { return runOn(*makeCpuBackend(), node, state); }
Ran runFast(const OneNode& node, int threads) { return runFast(node, stateWith(threads)); }
Ran runBlocked(const OneNode& node, int threads) {
  return runOn(*makeCpuBackend(), node, stateWith(threads), Way::kBlocked);
}
Ran runInParts(const OneNode& node, int threads) {
  return runOn(*makeCpuBackend(), node, stateWith(threads), Way::kInParts);
}
Ran runReference(const OneNode& node, const RunState& state) {
  return runOn(*makeReferenceBackend(), node, state);
}

Tensor fast(const OneNode& node, const RunState& state) {
  const Ran ran = runFast(node, state);
  INFO(node.opType << " was declined: " << ran.declined);
  REQUIRE_FALSE(ran.kernel.empty());
  return ran.outputs.front();
}
Tensor fast(const OneNode& node, int threads) { return fast(node, stateWith(threads)); }

Tensor numbers(Shape shape, std::uint64_t seed, double scale) {
  Tensor t(DType::Float32, std::move(shape));
  const RandomStream random(seed, "numbers", 0);
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.data<float>()[static_cast<std::size_t>(i)] =
        static_cast<float>(scale * (2 * random.uniform(static_cast<std::uint64_t>(i)) - 1));
  return t;
}
Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(std::move(shape), values);
}

bool sameBits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

double largestError(const Tensor& actual, const std::function<double(std::int64_t)>& expected, double scale) {
  double largest = 0;
  for (std::int64_t i = 0; i < actual.elements(); ++i) {
    const double a = actual.at(i), e = expected(i);
    if ((std::isnan(a) && std::isnan(e)) || a == e) continue;
    const double error = std::abs(a - e) / scale;
    if (!(error <= largest)) largest = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return largest;
}

double ulps(float actual, double expected) {
  const float rounded = static_cast<float>(expected);
  if ((std::isnan(actual) && std::isnan(rounded)) || actual == rounded) return 0;
  if (!std::isfinite(rounded) || !std::isfinite(actual)) return std::numeric_limits<double>::infinity();
  const float spacing =
      std::nextafter(std::abs(rounded), std::numeric_limits<float>::infinity()) - std::abs(rounded);
  return std::abs(static_cast<double>(actual) - expected) / static_cast<double>(spacing);
}

}  // namespace msdbg::test
