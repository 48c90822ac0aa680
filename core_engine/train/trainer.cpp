#include "core_engine/train/trainer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "core_engine/graph/roles.h"
#include "core_engine/graph/sources.h"
#include "core_engine/ops/cut_off.h"
#include "core_engine/passes/pipeline.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/batch_inputs.h"
#include "core_engine/train/classification.h"
#include "core_engine/train/evaluation.h"
#include "core_engine/train/mutable_input.h"

namespace msdbg::core {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::optional<TensorId> gradientOf(const Graph& graph, TensorId id) {
  for (const TensorInfo& tensor : graph.tensors())
    if (tensor.gradientOf == id) return tensor.id;
  return std::nullopt;
}

}  // namespace

std::vector<TensorId> readAfterIteration(const Graph& graph, std::vector<TensorId> read) {
  if (const auto found = findClassification(graph)) read.insert(read.end(), {found->logits, found->label});
  for (const TensorInfo& tensor : graph.tensors()) {
    if (tensor.kept) read.push_back(tensor.id);
    if (tensor.kept || isMutableInput(tensor))
      if (const auto gradient = gradientOf(graph, tensor.id)) read.push_back(*gradient);
  }
  return read;
}

struct Trainer::Impl {
  RunContext& run;
  Graph& graph;
  Optimizer optimizer;
  Graph model;    // as it was built, with the shapes of now
  TensorId loss;  // of the model
  TrainingGraph compiled;
  std::optional<Classification> classification;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Evaluation> evaluation;  // made when it is first asked for
  std::map<std::vector<TensorId>, std::unique_ptr<Evaluation>> predictions;  // by what they compute; likewise
  BatchInputs inputs;
  Iteration next{0};
  std::source_location where;  // line 0: nobody's
  bool saidUnobserved = false;
  bool hasStepped = false;  // and the last step was whole
  double lossScale = 1;     // of the last step, where the loss is scaled

  Impl(RunContext& context, Graph& g, Value lossValue, const Optimizer& chosen,
       const std::source_location& place)
      : run(context),
        graph(g),
        optimizer(chosen),
        model(g),
        loss(lossValue.id()),
        classification(findClassification(g)),
        inputs(g),
        where(place) {
    if (&lossValue.graph() != &graph) refuse("the loss belongs to another graph than the one to train");
    if (graph.hasTrainer())
      refuse("the graph has its Trainer already; go on with that one, or build a graph anew for another");
    Graph training = graph;  // one that cannot be trained stays as it was
    compiled = compileIn(training);
    graph = std::move(training);
    if (run.rank() == Rank(0)) warnOfCuts();
    executor = take(Executor::create(graph, executorOptions()));
    run.setObserved(this);
    announce();
  }

  void warnOfCuts() const {
    for (const CutOff& cut : cutOffParameters(graph)) logWarn(cut.sentence + "; freeze it if that is meant");
    for (const CutOff& cut : zeroedParameters(graph))
      logWarn(cut.sentence + "; leave the term out, or freeze it, if that is meant");
  }

  /// The rate's line is the Trainer's: there it was chosen.
  TrainingGraph compileIn(Graph& fresh) const {
    Result<TrainingGraph> training = compileTraining(fresh, loss, optimizer, run.ranks());
    if (!training.ok()) refuse(training.error().message());
    if (where.line() > 0)
      fresh.tensor(training->learningRate).frames = fresh.frameStack(fresh.addFrame(frameFrom(where)));
    return std::move(training).value();
  }

  void announce() {
    if (!observer()) return;
    resolveSources(graph);  // whoever records wants the lines' text
    observer()->graphReady(graph);
  }

  Observer* observer() const { return run.isObserved(this) ? run.observer() : nullptr; }

  void sayUnobserved() {
    if (!run.observer() || observer() || std::exchange(saidUnobserved, true) || run.rank() != Rank(0)) return;
    const std::string place =
        where.line() > 0 ? " (" + frameFrom(where).file + ":" + std::to_string(where.line()) + ")" : "";
    logWarn(graph.name() + ", iteration " + std::to_string(next.value) + ": the steps of this Trainer" +
            place +
            " are not recorded from here on: a run follows the Trainer that was made last: make that one "
            "last whose steps are to be seen");
  }

  ExecutorOptions executorOptions() const {
    ExecutorOptions options;
    options.threads = run.threads();
    options.seed = run.seed();
    options.rank = run.rank();
    options.ranks = run.ranks();
    options.communicator = &run.communicator();
    options.backend = run.backend();
    options.observed = run.observer() != nullptr;
    options.faults = run.faults();
    std::vector<TensorId> read{compiled.loss};
    if (compiled.finite.valid()) read.push_back(compiled.finite);
    options.keep = readAfterIteration(graph, std::move(read));
    options.choices = run.planChoices();
    return options;
  }

  [[noreturn]] void fail(const std::string& what) const { throw std::runtime_error(failureText(what)); }
  /// What is wrong as it was written; a line of its own comes before the Trainer's.
  [[noreturn]] void refuse(const std::string& what) const {
    const bool placed = where.line() == 0 || what.ends_with(')');
    fail(placed ? what : what + " (" + frameFrom(where).file + ":" + std::to_string(where.line()) + ")");
  }
  std::string failureText(const std::string& what) const {
    const std::string rank = run.ranks() > 1 ? ", rank " + std::to_string(run.rank().value) : "";
    return graph.name() + rank + ": " + what;
  }
  [[noreturn]] void failStep(const std::string& what) const {
    const std::string text = failureText("iteration " + std::to_string(next.value) + ": " + what);
    run.stepFailed(next, text);
    throw std::runtime_error(text);
  }
  template <typename T>
  T take(Result<T> result) const {
    if (!result.ok()) fail(result.error().message());
    return std::move(result).value();
  }

  template <typename T>
  T takeStep(Result<T> result) const {
    if (!result.ok()) failStep(result.error().message());
    return std::move(result).value();
  }

  // A tensor of its own every time: a planted fault may scale it.
  Tensor learningRateTensor() const {
    const TensorInfo& info = graph.tensor(compiled.learningRate);
    Tensor tensor(info.dtype, info.shape);
    const double rate = optimizer.rateAt(next);
    visitFloating(info.dtype,
                  [&](auto zero) { tensor.data<decltype(zero)>()[0] = static_cast<decltype(zero)>(rate); });
    if (!std::isfinite(tensor.at(0)))
      failStep("rate and schedule of the optimizer make the learning rate " + formatDouble(tensor.at(0)));
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
    Scalars scalars = {
        {"loss", result.loss}, {"learning_rate", result.learningRate}, {"step_time", result.seconds}};
    if (classification) scalars.emplace_back("accuracy", result.accuracy);
    if (compiled.finite.valid()) {
      scalars.emplace_back("loss_scale", lossScale);
      scalars.emplace_back("step_skipped", executor->value(compiled.finite).at(0) == 0 ? 1 : 0);
    }
    return scalars;
  }

  /// Of a step that was taken: a restored Trainer has taken none yet.
  void metric(const std::string& name, double value) const {
    static constexpr std::array kOwn = {"loss",     "learning_rate", "step_time",
                                        "accuracy", "loss_scale",    "step_skipped"};
    const auto own = std::span(kOwn).first(compiled.finite.valid() ? kOwn.size() : kOwn.size() - 2);
    if (name.empty() || std::ranges::find(own, name) != own.end())
      fail("metric: '" + name + "' is " + (name.empty() ? "no name" : "what each step records itself") +
           "; call it val_loss, or what it is");
    if (hasStepped && observer()) observer()->metricsGiven(Iteration{next.value - 1}, {{name, value}});
  }

  StepResult step(const Batch& batch) {
    const auto begin = std::chrono::steady_clock::now();
    hasStepped = false;
    sayUnobserved();
    const std::vector<InputShape> changed = takeStep(inputs.changedShapes(batch));
    if (!changed.empty()) rebuild(changed);
    Feeds feeds = takeStep(inputs.feeds(batch));
    if (std::ranges::find(feeds, compiled.learningRate, &Feeds::value_type::first) == feeds.end())
      feeds.emplace_back(compiled.learningRate, learningRateTensor());
    if (observer())
      if (const std::vector<GivenSource> sources = takeStep(inputs.sources(batch)); !sources.empty())
        observer()->sourcesGiven(next, sources);
    if (compiled.lossScale.valid()) lossScale = executor->value(compiled.lossScale).at(0);
    if (const Status status = executor->run(next, feeds, observer()); !status.ok())
      failStep(status.error().message());
    StepResult result{executor->value(compiled.loss).at(0), accuracy(), 0,
                      executor->value(compiled.learningRate).at(0)};
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (observer()) observer()->iterationFinished(next, scalarsOf(result));
    run.stepFinished(next);
    hasStepped = true;
    next = Iteration{next.value + 1};
    return result;
  }

  /// A new version of the graph, for inputs of other shapes; all that training carries goes on.
  void rebuild(const std::vector<InputShape>& changed) {
    const std::string reason = changeText(graph, changed);
    std::vector<InputShape> shapes;
    for (const auto& [id, shape] : changed)
      shapes.emplace_back(*model.findTensor(graph.tensor(id).fullName()), shape);
    Result<Graph> built = withInputShapes(model, shapes);
    if (!built.ok()) failStep(reason + ": " + built.error().message());
    Graph fresh = *built;
    fresh.setVersion(graph.version() + 1);
    TrainingGraph training = compileIn(fresh);
    const TrainingState carried = state();
    const bool wasSet = executor->wasSet();  // by the program, since the last step
    executor.reset();                        // it looks at the nodes of the graph that goes
    graph = std::move(fresh);
    model = std::move(*built);
    compiled = std::move(training);
    executor = take(Executor::create(graph, executorOptions()));
    restore(carried);
    if (!wasSet) executor->goesOn();
    logInfo(graph.name() + ", iteration " + std::to_string(next.value) + ": graph version " +
            std::to_string(graph.version()) + ": " + reason);
    announce();
  }

  TrainingState state() const {
    TrainingState now{next, {}, optimizer.lr()};
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
    if (state.learningRate && !checkLearningRate(*state.learningRate).ok())
      fail("the state to go on from has a learning rate of " + formatDouble(*state.learningRate));
  }

  void restore(const TrainingState& state) {
    checkState(state);
    for (const auto& [name, tensor] : state.tensors)
      if (const Status set = executor->setValue(*graph.findTensor(name), tensor); !set.ok())
        fail(set.error().message());
    if (state.learningRate) optimizer.setLr(*state.learningRate);
    next = state.iteration;
  }

  void setLearningRate(double rate) {
    if (const Status usable = checkLearningRate(rate); !usable.ok())
      fail("setLearningRate: " + usable.error().message());
    optimizer.setLr(rate);
  }

  /// Ready to evaluate batches like this one with the values of now.
  Evaluation& evaluationFor(const Batch& example) {
    if (!evaluation || !takeEvaluated(evaluation->fits(example)))
      evaluation =
          evaluationOf(std::span(&loss, 1), takeEvaluated(BatchInputs(model).changedShapes(example)));
    checkEvaluated(evaluation->share(graph, *executor));
    return *evaluation;
  }
  std::unique_ptr<Evaluation> evaluationOf(std::span<const TensorId> wanted,
                                           std::span<const InputShape> shapes) const {
    ExecutorOptions options = executorOptions();
    options.faults.clear();
    options.observed = false;
    return takeEvaluated(Evaluation::create(model, wanted, shapes, options));
  }

  std::vector<Tensor> predict(const Batch& batch, std::span<const Value> values) {
    std::vector<TensorId> wanted;
    for (const Value& value : values) wanted.push_back(modelsOwn("predict", value));
    std::unique_ptr<Evaluation>& prediction = predictions[wanted];
    if (!prediction || !takeEvaluated(prediction->fits(batch)))
      prediction = evaluationOf(wanted, takeEvaluated(BatchInputs(model).otherShapes(batch)));
    checkEvaluated(prediction->share(graph, *executor));
    checkEvaluated(prediction->run(batch));
    std::vector<Tensor> made;
    for (std::size_t i = 0; i < wanted.size(); ++i) made.push_back(prediction->value(i).clone());
    return made;
  }

  /// Its id, which is the same in the model and in the graph that trains.
  TensorId modelsOwn(std::string_view asks, const Value& value) const {
    if (!value.valid()) fail(std::string(asks) + ": the Value is empty");
    if (&value.graph() != &graph) fail(std::string(asks) + ": the Value is of another graph");
    return value.id();
  }

  Tensor valueOf(const Value& asked) const {
    const TensorInfo& info = graph.tensor(modelsOwn("value", asked));
    if (!isCarried(info)) checkRead("value", info, info.isSource() || info.id == loss || info.kept, info.id);
    return executor->value(info.id).clone();
  }
  Tensor gradientOf(const Value& asked) const {
    const TensorInfo& info = graph.tensor(modelsOwn("gradient", asked));
    const std::optional<TensorId> gradient = core::gradientOf(graph, info.id);
    if (!gradient) fail("gradient: none reaches " + info.name);
    checkRead("gradient", info, info.kept || isMutableInput(info), *gradient);
    return compiled.lossScale.valid() ? unscaled(executor->value(*gradient))
                                      : executor->value(*gradient).clone();
  }
  /// Of the loss as it was written: float16 itself might have nothing so small.
  Tensor unscaled(const Tensor& gradient) const {
    Tensor wide = gradient.cast(DType::Float32);
    for (float& x : wide.data<float>()) x = static_cast<float>(static_cast<double>(x) / lossScale);
    return wide;
  }
  void checkRead(const std::string& asks, const TensorInfo& info, bool isKept, TensorId read) const {
    if (!isKept)
      fail(asks + ": " + info.name + " is not kept; call keep() with it before the Trainer is made" +
           (asks == "value" ? ", or predict()" : ""));
    if (!hasStepped || !executor->value(read).valid())
      fail(asks + ": " + info.name + " has a value after a step, and there was none yet");
  }

  void setValue(const Value& asked, const Tensor& tensor) {
    const TensorInfo& info = graph.tensor(modelsOwn("setValue", asked));
    if (!isCarried(info))
      fail("setValue: " + info.name + " is no parameter, state or constant but " +
           std::string(roleName(info.role)));
    if (const Status set = executor->setValue(info.id, tensor); !set.ok())
      fail("setValue: " + set.error().message());
  }

  void checkEvaluated(const Status& status) const {
    if (!status.ok()) fail("evaluation: " + status.error().message());
  }
  template <typename T>
  T takeEvaluated(Result<T> result) const {
    if (!result.ok()) fail("evaluation: " + result.error().message());
    return std::move(result).value();
  }

  EvaluationResult evaluate(const DataLoader& loader, std::int64_t batches) {
    if (batches == 0) {
      checkEvaluated(checkLoader(loader, run.ranks()));
      batches = loader.iterationsPerEpoch(run.ranks());
    }
    if (batches < 1) fail("evaluation of " + std::to_string(batches) + " batches was asked for");
    Evaluation& now = evaluationFor(loader.batch(Iteration{0}, run.rank(), run.ranks()));
    double lossSum = 0, correct = 0, labels = 0;
    for (std::int64_t i = 0; i < batches; ++i) {
      checkEvaluated(now.run(loader.batch(Iteration{i}, run.rank(), run.ranks())));
      lossSum += now.loss();
      correct += static_cast<double>(now.correct(now.labels()));
      labels += static_cast<double>(now.labels());
    }
    const std::vector<double> sums = run.sum({lossSum, static_cast<double>(batches), correct, labels});
    return {sums[0] / sums[1], classification ? sums[2] / sums[3] : kNaN};
  }

  double accuracyAlone(const DataLoader& loader, std::int64_t samples) {
    if (!classification) fail("accuracy needs one softmaxCrossEntropy(logits [N, C], label) in the graph");
    if (samples < 1) fail("accuracy of no samples was asked for");
    Evaluation& now = evaluationFor(loader.batch(Iteration{0}, Rank{0}, 1));
    std::int64_t correct = 0;
    for (std::int64_t i = 0, rest = samples; rest > 0; ++i, rest -= loader.batchSize()) {
      checkEvaluated(now.run(loader.batch(Iteration{i}, Rank{0}, 1)));
      correct += now.correct(std::min(rest, loader.batchSize()));
    }
    return static_cast<double>(correct) / static_cast<double>(samples);
  }
};

Trainer::Trainer(RunContext& run, Graph& graph, Value loss, const Optimizer& optimizer,
                 std::source_location where)
    : m_impl(std::make_unique<Impl>(run, graph, loss, optimizer, where)) {}
Trainer::~Trainer() = default;

StepResult Trainer::step(const Batch& batch) { return m_impl->step(batch); }
double Trainer::evaluateAccuracy(const DataLoader& loader, std::int64_t samples) {
  return m_impl->accuracyAlone(loader, samples);
}
EvaluationResult Trainer::evaluate(const DataLoader& heldOut, std::int64_t batches) {
  return m_impl->evaluate(heldOut, batches);
}
void Trainer::metric(const std::string& name, double value) { m_impl->metric(name, value); }
Tensor Trainer::predict(const Batch& batch, Value value) {
  return m_impl->predict(batch, std::span(&value, 1)).front();
}
std::vector<Tensor> Trainer::predict(const Batch& batch, std::span<const Value> values) {
  return m_impl->predict(batch, values);
}
Tensor Trainer::value(Value value) const { return m_impl->valueOf(value); }
Tensor Trainer::gradient(Value value) const { return m_impl->gradientOf(value); }
void Trainer::setValue(Value value, const Tensor& tensor) { m_impl->setValue(value, tensor); }
TrainingState Trainer::state() const { return m_impl->state(); }
void Trainer::restore(const TrainingState& state) { m_impl->restore(state); }
double Trainer::learningRate() const { return m_impl->optimizer.lr(); }
void Trainer::setLearningRate(double rate) { m_impl->setLearningRate(rate); }
Iteration Trainer::iteration() const { return m_impl->next; }
Rank Trainer::rank() const { return m_impl->run.rank(); }
bool Trainer::classifies() const { return m_impl->classification.has_value(); }
const Graph& Trainer::graph() const { return m_impl->graph; }
Executor& Trainer::executor() { return *m_impl->executor; }
RunContext& Trainer::run() { return m_impl->run; }

}  // namespace msdbg::core
