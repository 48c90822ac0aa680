#include "tests/device/device_harness.h"

#include <cmath>
#include <cstring>
#include <iostream>

#include "core_engine/models/model.h"
#include "core_engine/runtime/device_memory.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

namespace msdbg::test {

using namespace core;

namespace {

constexpr int kSkipped = 77;

Tensor brought(Backend& backend, const Tensor& host) {
  if (!backend.memory()) return host.clone();
  Tensor device = backend.memory()->zeros(host.dtype(), host.shape());
  backend.memory()->upload(host, device);
  return device;
}

bool bothNan(const Tensor& a, const Tensor& b, std::int64_t i) {
  return isFloating(a.dtype()) && std::isnan(a.at(i)) && std::isnan(b.at(i));
}

std::optional<std::int64_t> differsAt(const Tensor& a, const Tensor& b) {
  if (std::memcmp(a.raw(), b.raw(), a.bytes()) == 0) return {};
  const std::size_t size = dtypeSize(a.dtype());
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(a.byteSpan().data() + at, b.byteSpan().data() + at, size) != 0 && !bothNan(a, b, i))
      return i;
  }
  return {};
}

class SeeingObserver : public Observer {
 public:
  void graphReady(const Graph& graph) override { m_graph = &graph; }
  void iterationStarted(Iteration iteration) override { m_iteration = iteration.value; }
  void tensorReady(const TensorReady& ready) override {
    const TensorInfo& info = m_graph->tensor(ready.tensor);
    std::string line = std::to_string(m_iteration) + " " + info.fullName() + " " +
                       hashTensor(ready.value).text() +
                       (ready.previous ? " after " + hashTensor(*ready.previous).text() : "");
    (info.isSource() ? sources : seen).push_back(std::move(line));
  }
  void iterationFinished(Iteration, const Scalars&) override {
    std::ranges::sort(sources);  // who reads them first depends on the kernels
    seen.insert(seen.end(), sources.begin(), sources.end());
    sources.clear();
  }
  SeenTensors seen, sources;

 private:
  const Graph* m_graph = nullptr;
  std::int64_t m_iteration = 0;
};

struct DeviceRun : PlainRun {
  explicit DeviceRun(const Training& training) : kind(training.backend) {
    threadCount = 2;
    chosen.passes = PassSelection::parse(training.passes).orThrow();
    if (!training.fault.empty()) planted = {parseFault(training.fault).orThrow()};
  }
  BackendKind backend() const override { return kind; }
  PlanChoices planChoices() const override { return chosen; }
  BackendKind kind;
  PlanChoices chosen;
};

}  // namespace

RanSample runSample(Backend& backend, const SampleGraph& sample, const RunState& state) {
  const Node& node = sample.graph->node(sample.node);
  const Backend::Answer answer = backend.compile(*sample.graph, node, state.threads);
  if (!answer.kernel) return {{}, "", answer.declined};
  std::vector<Tensor> in, out, shown;
  for (const Tensor& value : sample.values) in.push_back(brought(backend, value));
  for (const Tensor& output : makeOutputs(sample)) {
    Tensor host = output.clone();
    std::memset(host.raw(), host.dtype() == DType::Bool ? 0 : 0xFF, host.bytes());
    out.push_back(brought(backend, host));
  }
  std::vector<const Tensor*> inputs;
  std::vector<Tensor*> outputs;
  for (const Tensor& tensor : in) inputs.push_back(&tensor);
  for (Tensor& tensor : out) outputs.push_back(&tensor);
  RanSample ran{{}, answer.kernel->name(), "", answer.kernel->run({node, inputs, outputs, state})};
  if (const auto finding = backend.finish(); ran.status.ok() && finding) ran.status = finding->error;
  for (const Tensor& tensor : out) {
    if (!backend.memory()) {
      ran.outputs.push_back(tensor);
      continue;
    }
    Tensor host(tensor.dtype(), tensor.shape());
    if (const Status status = backend.memory()->download(tensor, host); ran.status.ok()) ran.status = status;
    ran.outputs.push_back(host);
  }
  return ran;
}

bool sameNumbers(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && !differsAt(a, b);
}

std::string firstDifference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return "another type";
  const auto at = differsAt(a, b);
  if (!at) return "none";
  char text[128];
  std::snprintf(text, sizeof text, "element %lld: %.9g and %.9g", static_cast<long long>(*at), a.at(*at),
                b.at(*at));
  return text;
}

std::vector<Sample> largeSamples() {
  const auto window = [](Ints kernel, Ints strides, Ints pads) {
    return Attributes{{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
  };
  const Attributes adam{
      {"beta1", 0.9}, {"beta2", 0.999}, {"weight_decay", 0.01}, {"decoupled", std::int64_t{1}}};
  return {
      {"Softmax", "rows of 77", {{{50, 77}}}},
      {"Softmax", "one element", {{{300, 1}}}},
      {"LogSoftmax", "rows of 1000", {{{33, 1000}}}},
      {"SoftmaxGrad", "rows of 19", {{{40, 19}}, {{40, 19}}}},
      {"LogSoftmaxGrad", "rows of 130", {{{7, 130}}, {{7, 130}, Fill::kLogProbability}}},
      {"LayerNormalization", "rows of 100", {{{130, 100}}, {{100}}, {{100}}}},
      {"ReduceSum", "one long run", {{{20000}}}},
      {"ReduceSum", "runs of 9000", {{{3, 9000}}}, {{"axes", Ints{1}}}},
      {"ReduceSum", "columns", {{{700, 33}}}, {{"axes", Ints{0}}}},
      {"ReduceSum", "outer and inner", {{{5, 7, 300}}}, {{"axes", Ints{0, 2}}}},
      {"ReduceSum", "middle", {{{5, 70, 11}}}, {{"axes", Ints{1}}}},
      {"ReduceMean", "all of 3 dimensions", {{{9, 31, 37}}}},
      {"ReduceSumSquare", "one long run", {{{17000}}}},
      {"GlobalAveragePool", "planes of 225", {{{3, 5, 15, 15}}}},
      {"MaxPool", "overlapping", {{{2, 3, 15, 17}, Fill::kHalves}}, window({3, 3}, {2, 2}, {1, 1, 1, 1})},
      {"MaxPool", "halving", {{{2, 3, 16, 12}, Fill::kHalves}}, window({2, 2}, {2, 2}, {0, 0, 0, 0})},
      {"Transpose", "of four dimensions", {{{3, 5, 7, 11}}}, {{"perm", Ints{2, 0, 3, 1}}}},
      {"Transpose", "of a matrix", {{{70, 45}}}},
      {"Transpose", "of matrices", {{{3, 33, 40}}}, {{"perm", Ints{0, 2, 1}}}},
      {"Transpose", "the first last", {{{34, 3, 9}}}, {{"perm", Ints{1, 2, 0}}}},
      {"SoftmaxCrossEntropyLoss", "600 rows", {{{600, 3}}, {{600}, Fill::kLabels}}},
      {"GatherGrad", "600 indices", {{{600, 7}}, {{600}, Fill::kIndices}}, {{"shape", Ints{3, 7}}}},
      {"Add", "row and column", {{{31, 1}}, {{1, 45}}}},
      {"Mul", "inner of three", {{{6, 5, 8}}, {{5, 1}}}},
      {"Gelu", "many", {{{3000}}}},
      {"Erf", "many", {{{3000}}}},
      {"Tanh", "many", {{{3000}}}},
      {"Sigmoid", "many", {{{3000}}}},
      {"Exp", "many", {{{3000}}}},
      {"Gather", "many indices", {{{6, 33}}, {{400}, Fill::kIndices}}},
  };
}

TrainedModel train(const Training& training) {
  const ModelInfo& model = *findModel(training.model);
  const ModelOptions options{
      .batch = training.batch, .dropout = model.hasDropout ? 0.2 : 0.0, .size = model.size};
  Graph graph("network");
  const Value loss = model.build(graph, options);
  DeviceRun run(training);
  SeeingObserver observer;
  if (training.observed) run.watching = &observer;
  LoaderOptions wanted;
  wanted.image = model.image, wanted.batch = options.batch;
  wanted.sequence = model.size.context, wanted.vocabulary = model.size.vocabulary;
  const auto loader = makeLoader(model.readsText() ? "words" : "digits", wanted).orThrow();
  Trainer trainer(run, graph, loss, model.optimizer);
  TrainedModel trained;
  for (const Batch& batch : run.shard(*loader, training.iterations))
    trained.losses.push_back(trainer.step(batch).loss);
  for (const Kernel& kernel : trainer.graph().kernels())
    ++trained.kernels[kernel.name.substr(0, kernel.name.find(':'))];
  const Plan& plan = trainer.executor().plan();
  for (const Kernel& kernel : trainer.graph().kernels())
    if (plan.steps[kernel.nodes.front().index()].how != How::kOnce) trained.everyTime.push_back(kernel.name);
  trained.seen = std::move(observer.seen);
  for (const auto& [name, tensor] : trainer.state().tensors)
    trained.seen.push_back("carried " + name + " " + hashTensor(tensor).text());
  return trained;
}

std::unique_ptr<Backend> cudaBackendOrSkip() {
  auto backend = makeDeviceBackend(BackendKind::kCuda, Rank(0));
  if (backend.ok()) return std::move(backend).value();
  std::cout << "skipped: " << backend.error().message() << "\n";
  std::exit(kSkipped);
}

}  // namespace msdbg::test
