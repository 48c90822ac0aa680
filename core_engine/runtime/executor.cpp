#include "core_engine/runtime/executor.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core_engine/graph/graph_text.h"
#include "core_engine/graph/roles.h"
#include "core_engine/ops/communicator.h"
#include "core_engine/plan/pipeline.h"
#include "core_engine/runtime/compiled_steps.h"
#include "core_engine/runtime/device_observer.h"
#include "core_engine/runtime/iteration_sequences.h"

namespace msdbg::core {
struct Executor::Impl {
  Graph& graph;
  ExecutorOptions options;
  std::vector<std::unique_ptr<Backend>> backends;  // own scratch memory that kernels use: outlives them
  FaultInjector faults;
  Plan plan;
  PlanMemory memory;
  HostView host;
  DeviceObserver deviceObserver;  // where `host` is one of a device
  std::shared_ptr<LayoutScratch> scratch = std::make_shared<LayoutScratch>();
  CompiledSteps compiled;
  IterationSequences sequences;
  std::vector<double> seconds;  // by KernelId; empty: profile off
  RunState state;
  std::vector<UpdateWish> wishes;        // by TensorId: of whoever observes the iteration
  std::vector<TensorId> updateOf;        // by TensorId: of a parameter or state, what replaces it
  const Observer* sawUpdates = nullptr;  // of the last iteration, since which nobody wrote to any source
  bool stateSet = false;                 // by setValue(), and nobody was told
  bool kept = false;                     // whoever observes this iteration did

  Impl(Graph& g, ExecutorOptions o) : graph(g), options(std::move(o)) {}

  Status prepare() {
    state = {Iteration(0), options.rank, options.ranks,       options.threads,
             options.seed, true,         options.communicator};
    omp_set_num_threads(options.threads);
    MSDBG_ASSIGN(faults, FaultInjector::bind(options.faults, graph, options.rank));
    MSDBG_TRY(openBackends());
    DeviceMemory* device = backends.front()->memory();
    MSDBG_ASSIGN(const bool apart, placeApart(device));
    if (!apart) MSDBG_TRY(place(options.choices));
    host = HostView(device, graph.tensors().size());
    if (device) deviceObserver = DeviceObserver(*device, host, graph, plan.shared.bytes > 0);
    updateOf.resize(graph.tensors().size());
    for (const TensorInfo& info : graph.tensors())
      if (info.updateOf.valid()) updateOf[info.updateOf.index()] = info.id;
    MSDBG_ASSIGN(compiled, compileSteps({graph, plan, memory, state, backends, scratch, options.threads}));
    sequences = IterationSequences(graph, compiled, memory);
    return Ok{};
  }

  Status place(const PlanChoices& choices) {
    std::vector<NodeId> pinned = faults.targets();
    pinned.insert(pinned.end(), options.replaceable.begin(), options.replaceable.end());
    MSDBG_ASSIGN(plan, makePlan(graph, {options.keep, std::move(pinned), choices, backends.front().get()}));
    memory = PlanMemory::allocate(graph, plan, options.seed, backends.front()->memory());
    return Ok{};
  }

  /// No two values in one place, where somebody will observe a device that has the memory for it. False:
  /// nothing is placed.
  Result<bool> placeApart(const DeviceMemory* device) {
    if (!device || !options.observed || !options.choices.recompute.empty()) return false;
    PlanChoices choices = options.choices;
    const std::string off = choices.passes.text();
    MSDBG_ASSIGN(choices.passes, PassSelection::parse(off + (off.empty() ? "" : ",") + "-memory"));
    try {
      MSDBG_TRY(place(choices));
    } catch (const OutOfMemory&) {
      memory = {};  // what fits by taking turns is tried next
      return false;
    }
    return true;
  }

  /// What one has no kernel for, the next is asked.
  Status openBackends() {
    if (options.backend == BackendKind::kEmulated || options.backend == BackendKind::kCuda) {
      MSDBG_ASSIGN(std::unique_ptr<Backend> device, makeDeviceBackend(options.backend, options.rank));
      backends.push_back(std::move(device));
    }
    if (options.backend != BackendKind::kReference) backends.push_back(makeCpuBackend());
    backends.push_back(makeReferenceBackend());
    return Ok{};
  }

  /// " (train.cpp:9)"; "" where no line is known.
  std::string placeOf(const TensorInfo& info) const {
    const Frame* frame = graph.userFrame(info.frames);
    return frame ? " (" + frame->file.substr(frame->file.rfind('/') + 1) + ":" + std::to_string(frame->line) +
                       ")"
                 : "";
  }

  Status feed(const Feeds& feeds) {
    for (const auto& [id, tensor] : feeds) {
      const TensorInfo& info = graph.tensor(id);
      if (!isFed(info.role))
        return Error(ErrorCode::kUsage,
                     info.fullName() + " is no input but " + std::string(roleName(info.role)));
      if (tensor.dtype() != info.dtype || tensor.shape() != info.shape)
        return Error(ErrorCode::kUsage, "input " + info.name + placeOf(info) + " wants " +
                                            std::string(dtypeName(info.dtype)) + info.shape.text() +
                                            " but was given " + std::string(dtypeName(tensor.dtype())) +
                                            tensor.shape().text());
      host.give(id, tensor,
                memory.tensors[id.index()]);  // shares the batch's memory: kernels only read sources
    }
    return Ok{};
  }

  Status checkFed(const Feeds& feeds) const {
    for (const TensorInfo& info : graph.tensors()) {
      if (info.role != TensorRole::kInput && info.role != TensorRole::kLabel) continue;
      const bool fed =
          std::any_of(feeds.begin(), feeds.end(), [&](const auto& f) { return f.first == info.id; });
      if (!fed)
        return Error(ErrorCode::kUsage, "input " + info.name + placeOf(info) + " was not given a value");
    }
    return Ok{};
  }

  void scaleLearningRate(Iteration iteration) {
    const double scale = faults.learningRateScale(iteration);
    if (scale == 1) return;
    for (const TensorInfo& info : graph.tensors()) {
      if (info.role != TensorRole::kHyperparameter) continue;
      Tensor scaled(info.dtype, info.shape);
      fillConstant(scaled, host.given(info.id, memory.tensors[info.id.index()]).at(0) * scale);
      host.give(info.id, scaled, memory.tensors[info.id.index()]);
    }
  }

  Status checkReplacements(const Detour& detour) const {
    for (const auto& [id, value] : detour.values) {
      const TensorInfo& info = graph.tensor(id);
      if (std::ranges::find(options.replaceable, info.producer) == options.replaceable.end())
        return Error(ErrorCode::kUsage, info.fullName() + " was not announced as one to be replaced");
      if (value.dtype() != info.dtype || value.shape() != info.shape)
        return Error(ErrorCode::kUsage, info.fullName() + " is " + std::string(dtypeName(info.dtype)) +
                                            info.shape.text() + ", not " +
                                            std::string(dtypeName(value.dtype())) + value.shape().text());
    }
    return Ok{};
  }

  void replace(Step& step, const Detour& detour) {
    for (const auto& [id, value] : detour.values) {
      if (graph.tensor(id).producer != step.node->id) continue;
      Tensor& tensor = memory.tensors[id.index()];
      if (memory.device)
        memory.device->upload(value, tensor);
      else
        std::ranges::copy(value.byteSpan(), tensor.byteSpan().begin());
    }
  }

  Status plantFaults(Step& step) {
    if (!faults.hits(state.iteration, *step.node)) return Ok{};
    return host.onHost(
        step.inputs, step.outputs,
        [&](std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs) -> Status {
          faults.afterNode(state.iteration, *step.node, inputs, outputs);
          return Ok{};
        });
  }

  /// What kernels found wrong the device only says once they are done. What was computed from there on nobody
  /// sees.
  Status finish(Observer* observer) {
    for (const auto& backend : backends) {
      const std::optional<Backend::Finding> finding = backend->finish();
      if (!finding) continue;
      const bool known = finding->node.valid();
      if (observer && known) {
        observer->kernelStarted(state.iteration, compiled.steps[finding->node.index()].id);
        MSDBG_TRY(deviceObserver.flush(finding->node));
      }
      return known ? atNode(finding->error, graph.node(finding->node)) : finding->error;
    }
    return observer && host.isDevice() ? deviceObserver.flush() : Status(Ok{});
  }

  /// Nothing is done otherwise than the graph says, and who looks on sees the same afterwards: every value is
  /// in its place up to the end of the iteration, or known.
  bool isPlain(const Observer* observer, const Detour& detour) const {
    if (!faults.empty() || !seconds.empty() || !detour.values.empty() || detour.last.valid()) return false;
    if (observer && !host.isDevice()) return false;
    return !observer ||
           (plan.shared.bytes == 0 && std::ranges::all_of(graph.tensors(), [&](const TensorInfo& info) {
              return !plan.inPlace[info.id.index()] || liesApart(info.id) ||
                     !deviceObserver.mustSee(info.updateOf, kept ? info.id : TensorId());
            }));
  }

  /// The steps at once, where they can be; false: they were not run.
  Result<bool> runSequence(Observer* observer, const Detour& detour) {
    if (detour.cancel.cancelled()) return Error(ErrorCode::kCancelled, "stopped before the iteration");
    MSDBG_ASSIGN(const bool done, sequences.run(observer != nullptr, [&]() -> Status {
      for (Step& step : compiled.steps) {
        if (step.how == How::kWatched && !observer) continue;
        for (const NodeId id : step.again) MSDBG_TRY(compute(compiled.steps[id.index()], true, nullptr));
        MSDBG_TRY(compute(step, false, nullptr));
      }
      return Ok{};
    }));
    if (done)
      for (const Step& step : compiled.steps)
        if (!step.kernel && !step.group && step.how != How::kGrouped) share(step);
    if (done && observer) MSDBG_TRY(reportAll(*observer));
    return done;
  }

  Status reportAll(Observer& observer) {
    for (const Step& step : compiled.steps) {
      MSDBG_TRY(reportSources(step.firstReads, observer));
      MSDBG_TRY(report(step, observer));
    }
    return Ok{};
  }

  Status runSteps(Observer* observer, const Detour& detour) {
    if (isPlain(observer, detour) && sequences.ready()) {
      MSDBG_ASSIGN(const bool done, runSequence(observer, detour));
      if (done) return endIteration(observer);
    }
    for (Step& step : compiled.steps) {
      if (detour.cancel.cancelled()) return Error(ErrorCode::kCancelled, "stopped before " + step.node->name);
      MSDBG_TRY(runStep(step, observer, detour));
      if (step.node->id == detour.last) return finish(observer);
    }
    sequences.warmedUp();
    return endIteration(observer);
  }

  Status endIteration(Observer* observer) {
    MSDBG_TRY(finish(observer));
    advance();
    sawUpdates = observer;
    return Ok{};
  }

  Status runStep(Step& step, Observer* observer, const Detour& detour) {
    if (observer) MSDBG_TRY(reportSources(step.firstReads, *observer));
    if (step.how == How::kWatched && !observer) return Ok{};
    for (const NodeId id : step.again) MSDBG_TRY(compute(compiled.steps[id.index()], true, observer));
    MSDBG_TRY(compute(step, false, observer));
    step.done = step.how == How::kOnce;
    if (!state.training) return Ok{};
    if (!faults.empty()) MSDBG_TRY(plantFaults(step));
    if (!detour.values.empty()) replace(step, detour);
    return observer ? report(step, *observer) : Status(Ok{});
  }

  Status compute(Step& step, bool again, Observer* observer) {
    if (step.how == How::kGrouped || step.done) return Ok{};
    if (!step.kernel && !step.group) return share(step), Ok{};
    const std::vector<Tensor>& places = again ? step.second : step.first;
    for (std::size_t i = 0; i < places.size(); ++i) *step.outputs[i] = places[i];
    return runKernel(step, observer);
  }

  /// Sources get new storage with every batch and every swap, so views of them are made anew. What is written
  /// only where somebody observes has none before that.
  static void share(const Step& step) {
    for (std::size_t i = 0; i < step.shared.size(); ++i) {
      if (!step.shared[i]->valid()) continue;
      Tensor view = step.shared[i]->part(step.starts.empty() ? 0 : step.starts[i], step.outputs[i]->shape());
      if (step.outputs[i]->address() != view.address()) *step.outputs[i] = std::move(view);
    }
  }

  /// What is said about updates is kept to until the next iteration.
  void askAboutUpdates(Observer* observer) {
    wishes.assign(graph.tensors().size(), UpdateWish::kNothing);
    for (const TensorInfo& info : graph.tensors())
      if (observer && info.updateOf.valid())
        wishes[info.id.index()] = observer->updateWish(state.iteration, info.id);
    memory.replaceInPlace(graph, plan, [&](TensorId id) { return liesApart(id); });
    if (observer && host.isDevice()) deviceObserver.start(state.iteration, *observer);
  }

  /// Where the next value is not written over the current one: on a device nobody else could tell the change.
  bool liesApart(TensorId id) const {
    const UpdateWish wish = wishes[id.index()];
    return wish == UpdateWish::kPrevious || (host.isDevice() && wish == UpdateWish::kStatistics);
  }

  /// nullptr: nobody wants statistics of what the step is about to replace.
  UpdateWatch* watchOf(const Step& step) const {
    if (!step.watch || host.isDevice()) return nullptr;
    std::vector<bool> wanted;
    for (const TensorId id : step.node->outputs)
      wanted.push_back(plan.inPlace[id.index()] && wishes[id.index()] == UpdateWish::kStatistics);
    step.watch->begin(step.outputs, wanted);
    return std::ranges::count(wanted, true) > 0 ? step.watch.get() : nullptr;
  }

  Status runKernel(Step& step, Observer* observer) {
    if (observer) observer->kernelStarted(state.iteration, step.id);
    for (std::size_t i = 0; i < step.members.size(); ++i)
      step.members[i].watch =
          watchOf(compiled.steps[plan.steps[step.node->id.index()].group[i].node.index()]);
    const auto start = std::chrono::steady_clock::now();
    const Status status =
        step.group ? step.group->run(step.members, observer != nullptr)
                   : step.kernel->run({*step.node, step.inputs, step.outputs, state, watchOf(step)});
    if (!status.ok()) return atNode(status.error(), *step.node);
    if (!seconds.empty() && memory.device) MSDBG_TRY(memory.device->wait());
    if (!seconds.empty())
      seconds[step.id.index()] +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return Ok{};
  }

  /// With name and line in front; a kernel that names the node itself does not name it twice.
  Error atNode(const Error& error, const Node& node) const {
    const std::string named = node.name + ": ";
    const std::string& what = error.message();
    const std::string bare = what.starts_with(named) ? what.substr(named.size()) : what;
    return Error(error.code(), bare).in(nodeWithLine(graph, node));
  }

  Status report(const Step& step, Observer& observer) {
    double taken = step.watch ? step.watch->seconds() : 0;
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      const TensorId id = step.node->outputs[i], previous = graph.tensor(id).updateOf;
      const bool inPlace = plan.inPlace[id.index()] && !liesApart(id);
      std::optional<ObservedUpdate> update;
      if (inPlace && !host.isDevice() && step.watch->watches(i))
        update = {step.watch->finish(i), std::exchange(taken, 0)};
      const Tensor* before = previous.valid() && !inPlace ? &memory.tensors[previous.index()] : nullptr;
      MSDBG_TRY(show(observer, {state.iteration, id, rowMajor(id), before, shownBy(step, i),
                                update ? &*update : nullptr}));
    }
    return Ok{};
  }

  /// Invalid: the output is no view, or one of a part.
  TensorId shownBy(const Step& step, std::size_t output) const {
    const PlanStep& planned = plan.steps[step.node->id.index()];
    if (planned.how != How::kView && planned.how != How::kSame) return {};
    const TensorId shown = planned.shares[output];
    const TensorInfo &whole = graph.tensor(shown), &info = graph.tensor(step.node->outputs[output]);
    return whole.shape.elements() == info.shape.elements() ? shown : TensorId();
  }

  /// The value as the graph has it.
  Tensor rowMajor(TensorId id) {
    const Tensor& value = memory.tensors[id.index()];
    if (plan.layouts[id.index()] == Layout::kRowMajor) return value;
    Tensor shown = scratch->place(0, value.shape());
    toRowMajor(value, shown, options.threads);
    return shown;
  }

  Status show(Observer& observer, const TensorReady& ready) {
    if (host.isDevice()) return deviceObserver.show(ready);
    return observer.tensorReady(ready), Ok{};
  }

  Status reportSources(const std::vector<TensorId>& sources, Observer& observer) {
    for (const TensorId id : sources) {
      const TensorId made = kept ? updateOf[id.index()] : TensorId();
      const Tensor& tensor = memory.tensors[id.index()];
      const Tensor& seen = isFed(graph.tensor(id).role) ? host.given(id, tensor) : tensor;
      MSDBG_TRY(show(observer, {state.iteration, id, seen, nullptr, made}));
    }
    return Ok{};
  }

  /// The next iteration's parameters and states are this one's updated values: swapped, not copied.
  void advance() {
    for (const TensorInfo& info : graph.tensors())
      if (info.updateOf.valid())
        std::swap(memory.tensors[info.id.index()], memory.tensors[info.updateOf.index()]);
  }
};

Executor::Executor(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::create(Graph& graph, ExecutorOptions options) {
  auto impl = std::make_unique<Impl>(graph, std::move(options));
  try {
    if (Status s = impl->prepare(); !s.ok()) return s.error();
  } catch (const OutOfMemory& failure) {
    return Error(ErrorCode::kIo, failure.what());
  }
  return std::unique_ptr<Executor>(new Executor(std::move(impl)));
}

Status Executor::run(Iteration iteration, const Feeds& feeds, Observer* observer, const Detour& detour) {
  Impl& d = *m_impl;
  MSDBG_TRY(d.checkReplacements(detour));
  MSDBG_TRY(d.checkFed(feeds));
  MSDBG_TRY(d.feed(feeds));
  omp_set_num_threads(d.options.threads);
  d.state.iteration = iteration;
  d.state.training = true;
  d.kept = std::exchange(d.sawUpdates, nullptr) == observer;
  d.scaleLearningRate(iteration);
  if (observer && std::exchange(d.stateSet, false)) observer->stateSet(iteration);
  if (observer) observer->iterationStarted(iteration);
  d.askAboutUpdates(observer);
  if (observer) {
    d.memory.allocateObserved(d.graph, d.plan);
    MSDBG_TRY(d.reportSources(d.compiled.given, *observer));
  }
  for (const auto& backend : d.backends) backend->start(d.state);
  return d.runSteps(observer, detour);
}

Status Executor::evaluate(const Feeds& feeds) {
  Impl& d = *m_impl;
  MSDBG_TRY(d.checkFed(feeds));
  MSDBG_TRY(d.feed(feeds));
  omp_set_num_threads(d.options.threads);
  d.state.training = false;
  d.sawUpdates = nullptr;
  for (Step& step : d.compiled.steps) {
    if (step.node->phase == Phase::kForward) MSDBG_TRY(d.runStep(step, nullptr, {}));
  }
  return d.finish(nullptr);
}

const Tensor& Executor::value(TensorId id) const {
  static const Tensor kNothing;
  if (!m_impl->memory.lasting.at(id.index())) return kNothing;
  const Tensor& tensor = m_impl->memory.tensors[id.index()];
  return isFed(m_impl->graph.tensor(id).role) ? m_impl->host.given(id, tensor)
                                              : m_impl->host.keep(id, tensor);
}

Status Executor::setValue(TensorId id, const Tensor& value) {
  MSDBG_TRY(share(id, value.clone()));
  m_impl->stateSet = true;
  return Ok{};
}

bool Executor::wasSet() const { return m_impl->stateSet; }
void Executor::goesOn() { m_impl->stateSet = false; }

Status Executor::share(TensorId id, const Tensor& value) {
  Tensor& mine = m_impl->memory.tensors.at(id.index());
  if (mine.dtype() != value.dtype() || mine.shape() != value.shape())
    return Error(ErrorCode::kUsage, m_impl->graph.tensor(id).fullName() + " is " +
                                        std::string(dtypeName(mine.dtype())) + mine.shape().text() +
                                        ", not " + std::string(dtypeName(value.dtype())) +
                                        value.shape().text());
  const auto overwrites = [&](const TensorInfo& info) {
    return info.updateOf == id && m_impl->plan.inPlace[info.id.index()];
  };
  m_impl->sawUpdates = nullptr;
  if (m_impl->memory.device)
    m_impl->memory.device->upload(value, mine);
  else
    mine = std::ranges::any_of(m_impl->graph.tensors(), overwrites) ? value.clone() : value;
  for (Step& step : m_impl->compiled.steps) step.done = false;  // it may be a constant that was computed with
  return Ok{};
}

std::size_t Executor::peakBytes() const { return m_impl->memory.bytes + m_impl->scratch->bytes(); }
const Plan& Executor::plan() const { return m_impl->plan; }

void Executor::enableProfile(bool on) {
  m_impl->seconds.assign(on ? m_impl->graph.kernels().size() : 0, 0.0);
}
std::vector<double> Executor::profile() const { return m_impl->seconds; }

}  // namespace msdbg::core
