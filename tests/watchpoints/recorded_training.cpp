#include "tests/watchpoints/recorded_training.h"

#include <stdexcept>
#include <thread>

#include "core_engine/base/philox.h"
#include "core_engine/distributed/communicators.h"
#include "core_engine/ops/functions.h"
#include "core_engine/passes/pipeline.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/layers.h"
#include "tests/watchpoints/source_recorder.h"

namespace msdbg::test {

using namespace msdbg::core;

namespace {

constexpr std::int64_t kRows = 8;
constexpr float kLearningRate = 0.01f;

template <typename T>
T orThrow(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(result).value();
}

Graph trainingGraph(const TrainingOptions& options) {
  Graph g("network");
  Value x = g.input("x", {kRows, 1, 8, 8});
  const Value label = g.input("label", {kRows}, DType::Int64);
  {
    auto s = g.scope("conv1");
    x = maxPool(relu(conv(x, {.out = 4, .kernel = 3, .pad = 1})));
  }
  {
    auto s = g.scope("fc1");
    x = relu(linear(flatten(x), {.out = 12}));
  }
  {
    auto s = g.scope("fc2");
    x = linear(x, {.out = 3});
  }
  const Value loss = softmaxCrossEntropy(x, label);
  orThrow(
      compileTraining(g, loss.id(), Sgd{.lr = kLearningRate, .momentum = options.momentum}, options.ranks));
  return g;
}

/// Three classes of bright stripes in noise: learnable, and another batch for every rank and iteration.
Feeds batch(const Graph& g, int rank, int iteration) {
  const RandomStream stream(7, "batch" + std::to_string(rank), iteration);
  Tensor x(DType::Float32, {kRows, 1, 8, 8}), label(DType::Int64, {kRows});
  for (std::int64_t n = 0; n < kRows; ++n) {
    const auto kind = static_cast<std::int64_t>(3 * stream.uniform(static_cast<std::uint64_t>(1000 + n)));
    label.data<std::int64_t>()[static_cast<std::size_t>(n)] = kind;
    for (std::int64_t i = 0; i < 64; ++i) {
      const double noise = 0.4 * stream.uniform(static_cast<std::uint64_t>(64 * n + i));
      x.data<float>()[static_cast<std::size_t>(64 * n + i)] =
          static_cast<float>(noise + (i / 8 % 3 == kind ? 0.6 : 0));
    }
  }
  return {{g.findTensor("network/x").value(), x},
          {g.findTensor("network/label").value(), label},
          {g.findTensor("optimizer/learning_rate").value(), Tensor::scalar(kLearningRate)}};
}

void train(Graph graph, const TrainingOptions& options, int rank, Communicator& communicator,
           FakeSource& into) {
  ExecutorOptions executorOptions;
  executorOptions.seed = 11;
  executorOptions.rank = Rank(rank);
  executorOptions.ranks = options.ranks;
  executorOptions.communicator = &communicator;
  executorOptions.backend = BackendKind::kReference;
  for (const std::string& fault : options.faults)
    executorOptions.faults.push_back(orThrow(parseFault(fault)));
  const auto executor = orThrow(Executor::create(graph, executorOptions));
  SourceRecorder recorder(into, Rank(rank));
  for (int i = 0; i < options.iterations; ++i) {
    const Status status = executor->run(Iteration(i), batch(graph, rank, i), &recorder);
    if (!status.ok()) throw std::runtime_error(status.error().message());
  }
}

}  // namespace

std::unique_ptr<FakeSource> recordTraining(const TrainingOptions& options) {
  const Graph graph = trainingGraph(options);
  auto source = std::make_unique<FakeSource>(graph, options.ranks, options.iterations);
  const auto communicators = makeThreadCommunicators(options.ranks);
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(communicators.size());
  for (std::size_t i = 0; i < communicators.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        train(graph, options, static_cast<int>(i), *communicators[i], *source);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return source;
}

}  // namespace msdbg::test
