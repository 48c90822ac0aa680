#include "core_engine/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>

#include "core_engine/base/text.h"
#include "core_engine/graph/sources.h"
#include "core_engine/passes/pipeline.h"
#include "core_engine/runtime/executor.h"

namespace msdbg::core {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// What the accuracy is computed from: the inputs of the graph's only cross-entropy node.
struct Classification {
  TensorId logits, label;
};

std::optional<Classification> findClassification(const Graph& graph) {
  std::optional<Classification> found;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward || node.opType != "SoftmaxCrossEntropyLoss") continue;
    if (found || graph.tensor(node.inputs[0]).shape.rank() != 2) return std::nullopt;
    found = Classification{node.inputs[0], node.inputs[1]};
  }
  return found;
}

/// Where the largest is, the first of equals. NaN never is; a row of NaN has none (-1).
template <typename T>
std::int64_t largestOf(std::span<const T> row) {
  T most = 0;
  std::int64_t best = -1;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (best < 0 ? std::isnan(row[i]) : !(row[i] > most)) continue;
    most = row[i];
    best = static_cast<std::int64_t>(i);
  }
  return best;
}

/// Every step asks: gpt has half a million logits in a batch.
std::int64_t countCorrect(const Tensor& logits, const Tensor& label, std::int64_t rows) {
  const auto labels = label.data<std::int64_t>();
  const auto classes = static_cast<std::size_t>(logits.shape()[1]);
  std::int64_t correct = 0;
  visitFloating(logits.dtype(), [&](auto zero) {
    const auto all = logits.data<decltype(zero)>();
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
      correct += largestOf(all.subspan(row * classes, classes)) == labels[row];
  });
  return correct;
}

bool isInput(const TensorInfo& info) { return info.isSource() && !isCarried(info); }

}  // namespace

bool isCarried(const TensorInfo& tensor) {
  return tensor.role == TensorRole::kParameter || tensor.role == TensorRole::kOptimizerState ||
         tensor.role == TensorRole::kConstant;
}

struct Trainer::Impl {
  RunContext& run;
  Graph& graph;
  Optimizer optimizer;
  TrainingGraph compiled;
  std::optional<Classification> classification;
  std::unique_ptr<Executor> executor;
  std::map<std::string, TensorId, std::less<>> inputs;  // by name in a batch; filled as names are met
  Iteration next{0};

  Impl(RunContext& context, Graph& g, Value loss, const Optimizer& chosen)
      : run(context), graph(g), optimizer(chosen), classification(findClassification(g)) {
    if (&loss.graph() != &graph) fail("the loss belongs to another graph than the one to train");
    compiled = take(compileTraining(graph, loss.id(), optimizer, run.ranks()));
    executor = take(Executor::create(graph, executorOptions()));
    if (!run.observer()) return;
    resolveSources(graph);  // whoever records wants the lines' text
    run.observer()->graphReady(graph);
  }

  ExecutorOptions executorOptions() {
    ExecutorOptions options;
    options.threads = run.threads();
    options.seed = run.seed();
    options.rank = run.rank();
    options.ranks = run.ranks();
    options.communicator = &run.communicator();
    options.faults = run.faults();
    return options;
  }

  [[noreturn]] void fail(const std::string& what) const {
    const std::string rank = run.ranks() > 1 ? ", rank " + std::to_string(run.rank().value) : "";
    throw std::runtime_error(graph.name() + rank + ": " + what);
  }
  [[noreturn]] void failStep(const std::string& what) const {
    fail("iteration " + std::to_string(next.value) + ": " + what);
  }
  template <typename T>
  T take(Result<T> result) const {
    if (!result.ok()) fail(result.error().message());
    return std::move(result).value();
  }

  TensorId findInput(const std::string& name) {
    if (const auto known = inputs.find(name); known != inputs.end()) return known->second;
    TensorId found;
    std::vector<std::string> names;
    for (const TensorInfo& info : graph.tensors()) {
      if (!isInput(info)) continue;
      names.push_back(info.name);
      if (info.name != name && !info.name.ends_with("/" + name)) continue;
      if (found.valid())
        failStep("the batch's '" + name + "' may be any of several inputs: " + join(names, ", "));
      found = info.id;
    }
    if (!found.valid())
      failStep("the batch's '" + name + "' is no input of the graph; it has " + join(names, ", "));
    return inputs[name] = found;
  }

  // Loaders give float32; a graph in float64 gets its inputs converted.
  Feeds feedsOf(const Batch& batch) {
    Feeds feeds;
    for (const auto& [name, tensor] : batch.tensors) {
      const TensorId id = findInput(name);
      const DType wanted = graph.tensor(id).dtype;
      const bool convert = isFloating(wanted) && isFloating(tensor.dtype()) && wanted != tensor.dtype();
      feeds.emplace_back(id, convert ? tensor.cast(wanted) : tensor);
    }
    return feeds;
  }

  std::vector<GivenSource> sourcesOf(const Batch& batch) {
    std::vector<GivenSource> sources;
    for (const auto& [name, source] : batch.sources) {
      const TensorInfo& info = graph.tensor(findInput(name));
      const Status fits = checkSource(source, info.dtype, info.shape);
      if (!fits.ok()) failStep("the batch's '" + name + "': " + fits.error().message());
      sources.push_back({info.id, source});
    }
    return sources;
  }

  // A tensor of its own every time: a planted fault may scale it.
  Tensor learningRateTensor() const {
    const TensorInfo& info = graph.tensor(compiled.learningRate);
    Tensor tensor(info.dtype, info.shape);
    const double rate = optimizer.rateAt(next);
    visitFloating(info.dtype,
                  [&](auto zero) { tensor.data<decltype(zero)>()[0] = static_cast<decltype(zero)>(rate); });
    return tensor;
  }

  double accuracy() const {
    if (!classification) return kNaN;
    const Tensor& label = executor->value(classification->label);
    const std::int64_t rows = label.elements();
    return static_cast<double>(countCorrect(executor->value(classification->logits), label, rows)) /
           static_cast<double>(rows);
  }

  Scalars scalarsOf(const StepResult& result) const {
    Scalars scalars = {{"loss", result.loss},
                       {"learning_rate", executor->value(compiled.learningRate).at(0)},
                       {"step_time", result.seconds}};
    if (classification) scalars.emplace_back("accuracy", result.accuracy);
    return scalars;
  }

  StepResult step(const Batch& batch) {
    const auto begin = std::chrono::steady_clock::now();
    Feeds feeds = feedsOf(batch);
    if (std::ranges::find(feeds, compiled.learningRate, &Feeds::value_type::first) == feeds.end())
      feeds.emplace_back(compiled.learningRate, learningRateTensor());
    const std::vector<GivenSource> sources = sourcesOf(batch);
    if (run.observer() && !sources.empty()) run.observer()->sourcesGiven(next, sources);
    if (const Status status = executor->run(next, feeds, run.observer()); !status.ok())
      failStep(status.error().message());
    StepResult result{executor->value(compiled.loss).at(0), accuracy(), 0};
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (run.observer()) run.observer()->iterationFinished(next, scalarsOf(result));
    next = Iteration{next.value + 1};
    return result;
  }

  TrainingState state() const {
    TrainingState now{next, {}};
    for (const TensorInfo& info : graph.tensors())
      if (isCarried(info)) now.tensors.emplace_back(info.fullName(), executor->value(info.id).clone());
    return now;
  }

  void checkState(const TrainingState& state) const {
    std::map<std::string_view, const Tensor*> given;
    for (const auto& [name, tensor] : state.tensors) given[name] = &tensor;
    for (const TensorInfo& info : graph.tensors()) {
      if (!isCarried(info)) continue;
      const auto at = given.find(info.fullName());
      if (at == given.end()) fail("the state to go on from has no " + info.fullName());
      if (at->second->dtype() != info.dtype || at->second->shape() != info.shape)
        fail("the state to go on from has " + info.fullName() + " as " +
             std::string(dtypeName(at->second->dtype())) + at->second->shape().text() + ", not " +
             std::string(dtypeName(info.dtype)) + info.shape.text());
      given.erase(at);
    }
    if (!given.empty())
      fail("the state to go on from has " + std::string(given.begin()->first) + ", which the graph has not");
    if (state.iteration.value < 0) fail("the state to go on from is of no iteration");
  }

  void restore(const TrainingState& state) {
    checkState(state);
    for (const auto& [name, tensor] : state.tensors)
      if (const Status set = executor->setValue(*graph.findTensor(name), tensor); !set.ok())
        fail(set.error().message());
    next = state.iteration;
  }

  double evaluate(const DataLoader& loader, std::int64_t samples) {
    if (!classification) fail("accuracy needs one softmaxCrossEntropy(logits [N, C], label) in the graph");
    if (samples < 1) fail("accuracy of no samples was asked for");
    std::int64_t correct = 0;
    for (std::int64_t i = 0, rest = samples; rest > 0; ++i, rest -= loader.batchSize()) {
      const Status status = executor->evaluate(feedsOf(loader.batch(Iteration{i}, Rank{0}, 1)));
      if (!status.ok()) fail("evaluation: " + status.error().message());
      correct += countCorrect(executor->value(classification->logits), executor->value(classification->label),
                              std::min(rest, loader.batchSize()));
    }
    return static_cast<double>(correct) / static_cast<double>(samples);
  }
};

Trainer::Trainer(RunContext& run, Graph& graph, Value loss, const Optimizer& optimizer)
    : m_impl(std::make_unique<Impl>(run, graph, loss, optimizer)) {}
Trainer::~Trainer() = default;

StepResult Trainer::step(const Batch& batch) { return m_impl->step(batch); }
double Trainer::evaluateAccuracy(const DataLoader& loader, std::int64_t samples) {
  return m_impl->evaluate(loader, samples);
}
TrainingState Trainer::state() const { return m_impl->state(); }
void Trainer::restore(const TrainingState& state) { m_impl->restore(state); }
Iteration Trainer::iteration() const { return m_impl->next; }
const Graph& Trainer::graph() const { return m_impl->graph; }
Executor& Trainer::executor() { return *m_impl->executor; }

}  // namespace msdbg::core
