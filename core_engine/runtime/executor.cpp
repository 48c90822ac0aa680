#include "core_engine/runtime/executor.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "core_engine/distributed/communicator.h"
#include "core_engine/runtime/philox.h"

namespace msdbg::core {
namespace {

std::string where(const Graph& graph, const Node& node) {
  const Frame* frame = graph.userFrame(node.frames);
  return node.name + (frame ? " (" + frame->file + ":" + std::to_string(frame->line) + ")" : "");
}

void fillNormal(Tensor& tensor, const std::string& name, std::uint64_t seed, double deviation) {
  const RandomStream stream(seed, name, -1);
  visitFloating(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> data = tensor.data<T>();
    const std::int64_t n = tensor.elements();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      data[static_cast<std::size_t>(i)] =
          static_cast<T>(deviation * stream.normal(static_cast<std::uint64_t>(i)));
  });
}

void fillConstant(Tensor& tensor, double value) {
  visitDType(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::ranges::fill(tensor.data<T>(), static_cast<T>(value));
  });
}

void initialise(Tensor& tensor, const TensorInfo& info, std::uint64_t seed) {
  switch (info.initializer.kind) {
    case Initializer::Kind::kNone:
    case Initializer::Kind::kZeros:
      return;  // memory starts as zeros
    case Initializer::Kind::kConstant:
      return fillConstant(tensor, info.initializer.value);
    case Initializer::Kind::kKaimingNormal:
      return fillNormal(tensor, info.name, seed, std::sqrt(2.0 / info.initializer.value));
  }
}

bool isFed(TensorRole role) {
  return role == TensorRole::kInput || role == TensorRole::kLabel || role == TensorRole::kHyperparameter;
}

}  // namespace

struct Executor::Impl {
  struct Step {
    const Node* node;
    std::unique_ptr<KernelImpl> kernel;
    std::vector<const Tensor*> inputs;
    std::vector<Tensor*> outputs;
  };

  Graph& graph;
  ExecutorOptions options;
  std::vector<std::unique_ptr<Backend>> backends;  // own scratch memory that kernels use: outlives them
  FaultInjector faults;
  std::vector<Tensor> tensors;  // by TensorId
  std::vector<Step> steps;      // by KernelId
  std::vector<double> seconds;  // by KernelId; empty: profile off
  RunState state;

  Impl(Graph& g, ExecutorOptions o) : graph(g), options(std::move(o)) {}

  Status prepare() {
    state = {Iteration(0), options.rank, options.ranks,       options.threads,
             options.seed, true,         options.communicator};
    omp_set_num_threads(options.threads);
    MSDBG_ASSIGN(faults, FaultInjector::bind(options.faults, graph, options.rank));
    if (options.backend == BackendKind::kFast) backends.push_back(makeCpuBackend());
    backends.push_back(makeReferenceBackend());
    MSDBG_TRY(allocate());
    return compile();
  }

  Status allocate() {
    for (const TensorInfo& info : graph.tensors()) {
      if (!info.shape.known())
        return Error(ErrorCode::kUsage, info.fullName() + " has unknown dimensions " + info.shape.text() +
                                            " and cannot be executed");
      tensors.push_back(Tensor::zeros(info.dtype, info.shape));
      if (info.isSource()) initialise(tensors.back(), info, options.seed);
    }
    return Ok{};
  }

  Status compile() {
    std::vector<Kernel> kernels;
    for (const Node& node : graph.nodes()) {
      MSDBG_ASSIGN(std::unique_ptr<KernelImpl> kernel, compileNode(node));
      kernels.push_back({KernelId(static_cast<std::int64_t>(kernels.size())), kernel->name(), {node.id}});
      Step step{&node, std::move(kernel), {}, {}};
      for (TensorId id : node.inputs) step.inputs.push_back(&tensors[id.index()]);
      for (TensorId id : node.outputs) step.outputs.push_back(&tensors[id.index()]);
      steps.push_back(std::move(step));
    }
    graph.setKernels(std::move(kernels));
    return Ok{};
  }

  Result<std::unique_ptr<KernelImpl>> compileNode(const Node& node) {
    std::string reasons;
    for (const auto& backend : backends) {
      Backend::Answer answer = backend->compile(graph, node, options.threads);
      if (answer.kernel) return std::move(answer.kernel);
      reasons += (reasons.empty() ? "" : "; ") + backend->name() + ": " + answer.declined;
    }
    return Error(ErrorCode::kUnsupported,
                 where(graph, node) + ": no kernel for " + node.opType + " (" + reasons + ")");
  }

  Status feed(const Feeds& feeds) {
    for (const auto& [id, tensor] : feeds) {
      const TensorInfo& info = graph.tensor(id);
      if (!isFed(info.role))
        return Error(ErrorCode::kUsage,
                     info.fullName() + " is no input but " + std::string(roleName(info.role)));
      if (tensor.dtype() != info.dtype || tensor.shape() != info.shape)
        return Error(ErrorCode::kUsage, "input " + info.name + " wants " +
                                            std::string(dtypeName(info.dtype)) + info.shape.text() +
                                            " but was given " + std::string(dtypeName(tensor.dtype())) +
                                            tensor.shape().text());
      tensors[id.index()] = tensor;  // shares the batch's memory: kernels only read sources
    }
    return Ok{};
  }

  Status checkFed(const Feeds& feeds) const {
    for (const TensorInfo& info : graph.tensors()) {
      if (info.role != TensorRole::kInput && info.role != TensorRole::kLabel) continue;
      const bool fed =
          std::any_of(feeds.begin(), feeds.end(), [&](const auto& f) { return f.first == info.id; });
      if (!fed) return Error(ErrorCode::kUsage, "input " + info.name + " was not given a value");
    }
    return Ok{};
  }

  void scaleLearningRate(Iteration iteration) {
    const double scale = faults.learningRateScale(iteration);
    if (scale == 1) return;
    for (const TensorInfo& info : graph.tensors()) {
      if (info.role != TensorRole::kHyperparameter) continue;
      Tensor scaled(info.dtype, info.shape);
      fillConstant(scaled, tensors[info.id.index()].at(0) * scale);
      tensors[info.id.index()] = scaled;
    }
  }

  Status runStep(Step& step, Observer* observer) {
    const KernelId id(&step - steps.data());
    if (observer) observer->kernelStarted(state.iteration, id);
    const auto start = std::chrono::steady_clock::now();
    const KernelArgs args{*step.node, step.inputs, step.outputs, state};
    if (Status s = step.kernel->run(args); !s.ok()) return s.error().in(where(graph, *step.node));
    if (!seconds.empty())
      seconds[id.index()] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!state.training) return Ok{};
    if (!faults.empty()) faults.afterNode(state.iteration, *step.node, step.inputs, step.outputs);
    if (observer) report(*step.node, *observer);
    return Ok{};
  }

  void report(const Node& node, Observer& observer) {
    for (TensorId id : node.outputs) {
      const TensorId previous = graph.tensor(id).updateOf;
      observer.tensorReady(state.iteration, id, tensors[id.index()],
                           previous.valid() ? &tensors[previous.index()] : nullptr);
    }
  }

  void reportSources(Observer& observer) {
    for (const TensorInfo& info : graph.tensors())
      if (info.isSource()) observer.tensorReady(state.iteration, info.id, tensors[info.id.index()], nullptr);
  }

  /// The next iteration's parameters and states are this one's updated values: swapped, not copied.
  void advance() {
    for (const TensorInfo& info : graph.tensors())
      if (info.updateOf.valid()) std::swap(tensors[info.id.index()], tensors[info.updateOf.index()]);
  }
};

Executor::Executor(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::create(Graph& graph, ExecutorOptions options) {
  auto impl = std::make_unique<Impl>(graph, std::move(options));
  if (Status s = impl->prepare(); !s.ok()) return s.error();
  return std::unique_ptr<Executor>(new Executor(std::move(impl)));
}

Status Executor::run(Iteration iteration, const Feeds& feeds, Observer* observer) {
  Impl& d = *m_impl;
  MSDBG_TRY(d.checkFed(feeds));
  MSDBG_TRY(d.feed(feeds));
  omp_set_num_threads(d.options.threads);
  d.state.iteration = iteration;
  d.state.training = true;
  d.scaleLearningRate(iteration);
  if (observer) {
    observer->iterationStarted(iteration);
    d.reportSources(*observer);
  }
  for (Impl::Step& step : d.steps) MSDBG_TRY(d.runStep(step, observer));
  d.advance();
  return Ok{};
}

Status Executor::evaluate(const Feeds& feeds) {
  Impl& d = *m_impl;
  MSDBG_TRY(d.checkFed(feeds));
  MSDBG_TRY(d.feed(feeds));
  omp_set_num_threads(d.options.threads);
  d.state.training = false;
  for (Impl::Step& step : d.steps) {
    if (step.node->phase == Phase::kForward) MSDBG_TRY(d.runStep(step, nullptr));
  }
  return Ok{};
}

const Tensor& Executor::value(TensorId id) const { return m_impl->tensors.at(id.index()); }

Status Executor::setValue(TensorId id, const Tensor& value) { return share(id, value.clone()); }

Status Executor::share(TensorId id, const Tensor& value) {
  Tensor& mine = m_impl->tensors.at(id.index());
  if (mine.dtype() != value.dtype() || mine.shape() != value.shape())
    return Error(ErrorCode::kUsage, m_impl->graph.tensor(id).fullName() + " is " +
                                        std::string(dtypeName(mine.dtype())) + mine.shape().text() +
                                        ", not " + std::string(dtypeName(value.dtype())) +
                                        value.shape().text());
  mine = value;
  return Ok{};
}

std::size_t Executor::peakBytes() const {
  std::size_t bytes = 0;
  for (const Tensor& t : m_impl->tensors) bytes += t.bytes();
  return bytes;
}

void Executor::enableProfile(bool on) { m_impl->seconds.assign(on ? m_impl->steps.size() : 0, 0.0); }
std::vector<double> Executor::profile() const { return m_impl->seconds; }

}  // namespace msdbg::core
