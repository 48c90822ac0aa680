#include "tests/watchpoints/traced_program.h"

#include <stdexcept>

#include "core_engine/passes/pipeline.h"
#include "core_engine/runtime/executor.h"
#include "tests/watchpoints/source_recorder.h"

namespace msdbg::test {

using namespace msdbg::core;

namespace {

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error().message());
}

template <typename T>
T orThrow(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(result).value();
}

bool isFed(const TensorInfo& info) {
  return info.role == TensorRole::kInput || info.role == TensorRole::kLabel ||
         info.role == TensorRole::kHyperparameter;
}

void run(Graph& graph, const Named& given, double rate, FakeSource& into) {
  ExecutorOptions options;
  options.backend = BackendKind::kReference;
  const auto executor = orThrow(Executor::create(graph, options));
  Feeds feeds;
  for (const auto& [name, value] : given) {
    const TensorId id = graph.findTensor(name).value();
    if (isFed(graph.tensor(id)))
      feeds.emplace_back(id, value);
    else
      require(executor->setValue(id, value));
  }
  if (const auto id = graph.findTensor("optimizer/learning_rate"))
    feeds.emplace_back(*id, Tensor::scalar(static_cast<float>(rate)));
  SourceRecorder recorder(into, Rank(0));
  require(executor->run(Iteration(0), feeds, &recorder));
}

}  // namespace

Trace traceForward(const Program& program, const Named& inputs) {
  Graph graph("network");
  const TensorId result = program(graph).id();
  Trace trace{std::make_unique<FakeSource>(graph, 1, 1), result};
  run(graph, inputs, 0, *trace.source);
  return trace;
}

Trace traceTraining(const Program& program, const Named& inputs, const Optimizer& optimizer) {
  Graph graph("network");
  const TensorId result = program(graph).id();
  orThrow(compileTraining(graph, result, optimizer, 1));
  Trace trace{std::make_unique<FakeSource>(graph, 1, 1), result};
  run(graph, inputs, optimizer.lr(), *trace.source);
  return trace;
}

}  // namespace msdbg::test
