#include "core_engine/train/fit.h"

#include <algorithm>
#include <stdexcept>

#include "core_engine/graph/roles.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/trainer.h"

namespace msdbg::core {
namespace {

/// One call of Trainer::fit.
class Fit : private TrainingControl {
 public:
  Fit(Trainer& trainer, const DataLoader& loader, const FitOptions& options)
      : m_trainer(trainer), m_run(trainer.run()), m_loader(loader), m_options(options) {
    checkOptions();
    check(checkLoader(loader, m_run.ranks()));
    const std::int64_t epoch = loader.iterationsPerEpoch(m_run.ranks());
    const std::int64_t first = trainer.iteration().value;
    const std::int64_t rest = std::max<std::int64_t>(0, options.epochs * epoch - first);
    m_steps = m_run.steps(options.steps > 0 ? options.steps : rest);
    m_end = first + m_steps;
    m_roundSteps = options.roundSteps > 0 ? options.roundSteps : epoch;
  }

  FitResult train() {
    for (Callback* callback : m_options.callbacks) check(callback->begin(*this));
    if (m_steps > 0)
      for (const Batch& batch : m_run.shard(m_loader, m_steps, m_trainer.iteration())) {
        add(m_trainer.step(batch));
        const std::int64_t done = m_trainer.iteration().value;
        if (done % m_roundSteps == 0 || done == m_end) finishRound();
        if (!m_result.stopped.empty()) break;
      }
    for (Callback* callback : m_options.callbacks) check(callback->end(*this));
    return std::move(m_result);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(m_trainer.graph().name() + ": fit: " + what);
  }
  void check(const Status& status) const {
    if (!status.ok()) fail(status.error().message());
  }
  void checkOptions() const {
    if (m_options.epochs < 0 || m_options.steps < 0 || m_options.roundSteps < 0 ||
        m_options.heldOutBatches < 0)
      fail("epochs, steps, roundSteps and heldOutBatches count from 0");
    if (std::ranges::find(m_options.callbacks, nullptr) != m_options.callbacks.end())
      fail("a callback is a null pointer");
  }

  void add(const StepResult& result) {
    m_sum.loss += result.loss;
    m_sum.accuracy += result.accuracy;
    m_sum.learningRate = result.learningRate;
    ++m_sum.steps;
  }

  void finishRound() {
    const auto number = static_cast<std::int64_t>(m_result.rounds.size());
    Round round{number, Iteration(m_trainer.iteration().value - 1), trainingMetrics()};
    m_sum = {};
    if (m_options.heldOut) addEvaluation(round.metrics);
    record(round);
    m_result.rounds.push_back(round);
    for (Callback* callback : m_options.callbacks) check(callback->roundEnded(round, *this));
  }

  Metrics trainingMetrics() {
    const std::vector<double> sums =
        m_run.sum({m_sum.loss, m_sum.accuracy, static_cast<double>(m_sum.steps)});
    Metrics metrics{{"loss", sums[0] / sums[2]}};
    if (m_trainer.classifies()) metrics.emplace_back("accuracy", sums[1] / sums[2]);
    metrics.emplace_back("learning_rate", m_sum.learningRate);
    return metrics;
  }

  void addEvaluation(Metrics& metrics) {
    const EvaluationResult result = m_trainer.evaluate(*m_options.heldOut, m_options.heldOutBatches);
    metrics.emplace_back("val_loss", result.loss);
    if (m_trainer.classifies()) metrics.emplace_back("val_accuracy", result.accuracy);
  }

  /// The learning rate is recorded with each iteration.
  void record(const Round& round) {
    for (const auto& [name, value] : round.metrics) {
      if (name == "learning_rate") continue;
      m_trainer.metric(name == "loss" || name == "accuracy" ? "round_" + name : name, value);
    }
  }

  // --- TrainingControl ---
  double learningRate() const override { return m_trainer.learningRate(); }
  void setLearningRate(double rate) override { m_trainer.setLearningRate(rate); }
  void stop(std::string reason) override {
    if (m_result.stopped.empty()) m_result.stopped = reason.empty() ? "stopped" : std::move(reason);
  }
  ModelValues modelValues() const override {
    ModelValues values;
    for (const TensorInfo& info : m_trainer.graph().tensors())
      if (isModelValue(info))
        values.emplace_back(info.fullName(), m_trainer.executor().value(info.id).clone());
    return values;
  }
  Status setModelValues(const ModelValues& values) override {
    for (const auto& [name, tensor] : values)
      MSDBG_TRY(m_trainer.executor().setValue(*m_trainer.graph().findTensor(name), tensor));
    return Ok{};
  }
  bool isModelValue(const TensorInfo& info) const {
    const Graph& graph = m_trainer.graph();
    return isCarried(info) && std::ranges::any_of(graph.consumers(info.id), [&](NodeId id) {
             return graph.node(id).phase == Phase::kForward;
           });
  }

  struct Sum {
    double loss = 0, accuracy = 0, learningRate = 0;
    std::int64_t steps = 0;
  };
  Trainer& m_trainer;
  RunContext& m_run;
  const DataLoader& m_loader;
  const FitOptions& m_options;
  std::int64_t m_steps = 0, m_end = 0, m_roundSteps = 0;
  Sum m_sum;  // of the round in progress, this rank's
  FitResult m_result;
};

}  // namespace

FitResult Trainer::fit(const DataLoader& loader, const FitOptions& options) {
  return Fit(*this, loader, options).train();
}

}  // namespace msdbg::core
