#include "dump/python/record/foreign_recording.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core_engine/base/log.h"
#include "core_engine/graph/roles.h"
#include "core_engine/tensor/flags.h"
#include "dump/json_internal.h"
#include "dump/policy/foreign_defaults.h"
#include "dump/python/record/forked_child.h"
#include "dump/python/record/freed_memory.h"
#include "dump/python/record/gradient_norm.h"
#include "dump/session/environment_options.h"

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::NodeId;
using core::Ok;
using core::Result;
using core::Status;
using core::TensorId;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::int64_t kManyVersions = 100;     // of a graph: something has a new name in every iteration
constexpr std::uint64_t kTeamBytes = 4u << 20;  // below, waking other threads costs more than they save

template <typename T>
T& grown(std::vector<T>& all, std::size_t index, std::size_t size, T fresh) {
  if (all.size() <= index) all.resize(std::max(size, index + 1), fresh);
  return all[index];
}

}  // namespace

Result<std::unique_ptr<ForeignRecording>> ForeignRecording::open(const ForeignSettings& settings) {
  MSDBG_ASSIGN(const RecordOptions asked, environmentOptions());
  const RecordOptions options = foreignDefaults(asked);
  std::unique_ptr<ForeignRecording> recording(new ForeignRecording(settings, options));
  MSDBG_ASSIGN(recording->m_place, RunPlace::make(settings, options));
  Recorder::Place place;
  place.run = settings.run;
  place.rank = settings.rank;
  place.ranks = settings.ranks;
  place.threads = 1;  // values are looked at before it gets them
  Result<std::unique_ptr<Recorder>> recorder = Recorder::create(place, options);
  if (!recorder.ok()) {  // the folder is made, and would look like a run that still goes on
    recording->m_place->end({.state = "failed"}, recorder.error(), 0);
    return recorder.error();
  }
  recording->m_recorder = std::move(recorder).value();
  keepFreedMemory();
  return recording;
}

ForeignRecording::~ForeignRecording() {
  RunEnd how;
  how.state = "finished";
  finish(how);
}

bool ForeignRecording::active() const { return !m_finished && m_recorder->status().ok(); }

Status ForeignRecording::setRole(TensorId tensor, core::TensorRole role) {
  MSDBG_ASSIGN(const bool changed, m_definitions.setRole(tensor, role));
  if (changed && m_graph && m_graph->tensor(tensor).valid()) m_stale = true;
  if (changed) m_narrow.reset();
  return Ok{};
}

Status ForeignRecording::setMesh(MeshAxis axis) {
  if (axis.name.empty() || axis.index < 0 || axis.index >= axis.size)
    return Error(ErrorCode::kUsage, "mesh: there is no place " + std::to_string(axis.index) + " of " +
                                        std::to_string(axis.size) + " along '" + axis.name + "'");
  const auto known = std::ranges::find(m_mesh, axis.name, &MeshAxis::name);
  if (known == m_mesh.end())
    m_mesh.push_back(std::move(axis));
  else
    *known = std::move(axis);
  m_recorder->setMesh(m_mesh);
  return Ok{};
}

Status ForeignRecording::begin(core::Iteration iteration) {
  if (m_iteration.valid())
    return Error(ErrorCode::kUsage, "iteration " + std::to_string(m_iteration.value) + " has not ended");
  m_iteration = iteration;
  m_selected = active() && m_options.records(iteration);
  ++m_turn;
  return Ok{};
}

Status ForeignRecording::ran(NodeId node) {
  if (!m_selected) return Ok{};
  if (!m_definitions.has(node)) return Error(ErrorCode::kUsage, "ran: no node " + std::to_string(node.value));
  std::int64_t& turn = grown(m_nameTurn, m_definitions.nameOf(node), m_definitions.names(), std::int64_t{0});
  if (turn == m_turn)
    return Error(ErrorCode::kUsage, m_definitions.node(node).name + " ran already in this iteration");
  turn = m_turn;
  m_used.nodes.push_back(node);
  if (const NodeId here = m_graph ? m_graph->node(node) : NodeId(); here.valid())
    m_recorder->kernelStarted(m_iteration, core::KernelId(here.value));
  return Ok{};
}

Status ForeignRecording::ranBefore(NodeId node, NodeId reader, std::vector<TensorId> inputs) {
  if (!m_selected) return Ok{};
  const auto isReader = [&] { return std::ranges::find(m_used.nodes, reader) != m_used.nodes.end(); };
  if (!isReader())
    return Error(ErrorCode::kUsage, "no node " + std::to_string(reader.value) + " ran in this iteration");
  MSDBG_TRY(ran(node));
  MSDBG_TRY(m_definitions.setInputs(reader, std::move(inputs)));
  m_used.nodes.pop_back();
  m_used.nodes.insert(std::ranges::find(m_used.nodes, reader), node);
  return Ok{};
}

std::optional<bool> ForeignRecording::isFinite(TensorId tensor) const {
  if (!m_selected || !m_definitions.has(tensor) || m_seenAt.size() <= tensor.index()) return std::nullopt;
  const auto& [turn, place] = m_seenAt[tensor.index()];
  if (turn != m_turn) return std::nullopt;
  return m_seen[place].observed.values.nonFinite() == 0;
}

std::optional<bool> ForeignRecording::isSame(TensorId tensor, const SeenValue& value) const {
  if (!isFinite(tensor)) return std::nullopt;
  const Seen& seen = m_seen[m_seenAt[tensor.index()].second];
  const core::TensorStatistics& values = seen.observed.values;
  const core::Tensor now = borrowed(value);
  if (values.hash == core::Hash128{} || seen.value.dtype() != now.dtype() || values.count != now.elements())
    return std::nullopt;
  return core::hashTensor(now) == values.hash;
}

Status ForeignRecording::checkSeen(TensorId tensor) const {
  if (m_definitions.has(tensor)) return Ok{};
  return Error(ErrorCode::kUsage, "saw: no tensor " + std::to_string(tensor.value));
}

// nullopt: of new ones it is known once their graph is there. Until then what may be wanted is kept.
std::optional<Policy> ForeignRecording::policyOf(TensorId tensor) const {
  const TensorId here = m_graph ? m_graph->tensor(tensor) : TensorId();
  if (!here.valid()) return std::nullopt;
  return m_decisions->decide(here, m_iteration);
}

bool ForeignRecording::keepsValue(TensorId tensor) const {
  const core::TensorInfo& info = m_definitions.tensor(tensor).info;
  if (m_options.keepsBatches() && info.isSource() && !core::isCarried(info)) return true;
  return m_options.keepsValues() && policyOf(tensor).value_or(Policy::kFull) == Policy::kFull;
}

// Conditions that are asked while it trains look at all statistics.
bool ForeignRecording::wantsFlags(TensorId tensor) const {
  return !m_options.onHit.on() && policyOf(tensor) == Policy::kFlags;
}

const core::Tensor* ForeignRecording::previousOf(TensorId tensor) const {
  const TensorId of = m_definitions.tensor(tensor).info.updateOf;
  const auto kept = of.valid() ? m_kept.find(of) : m_kept.end();
  return kept == m_kept.end() ? nullptr : &kept->second;
}

// Where the hash is the same, so is everything else.
const core::TensorStatistics* ForeignRecording::expectedOf(TensorId tensor) const {
  const auto updated = m_updated.find(tensor);
  return updated == m_updated.end() ? nullptr : &updated->second;
}

core::TensorObservation ForeignRecording::observe(TensorId tensor, const core::Tensor& value) const {
  const int threads = value.bytes() < kTeamBytes ? 1 : m_settings.threads;
  if (wantsFlags(tensor)) return {core::flagsOf(value, threads), {}, {}, {}};
  core::ObservationWish wish;
  const core::Tensor* previous = previousOf(tensor);
  if (previous && previous->dtype() == value.dtype() && previous->shape() == value.shape())
    wish.previous = previous;
  wish.expected = expectedOf(tensor);
  if (const auto& range = m_definitions.tensor(tensor).range) wish.range = {range->start, range->end};
  return core::observeTensor(value, wish, threads);
}

Status ForeignRecording::saw(TensorId tensor, const SeenValue& value) {
  if (!m_selected) return Ok{};
  MSDBG_TRY(checkSeen(tensor));
  const Definitions::DefinedTensor& defined = m_definitions.tensor(tensor);
  if (defined.info.dtype != value.dtype)
    return Error(ErrorCode::kUsage, defined.info.name + " was defined as " +
                                        std::string(core::dtypeName(defined.info.dtype)) + " and is " +
                                        std::string(core::dtypeName(value.dtype)));
  if (!std::ranges::equal(defined.info.shape.dims(), value.dims) && m_definitions.widen(tensor, value.dims))
    m_stale = true;
  const auto start = Clock::now();
  const core::Tensor here = borrowed(value);
  Seen seen{tensor, observe(tensor, here), {}};
  if (defined.info.updateOf.valid()) m_updateOf[defined.info.updateOf] = tensor;
  if (defined.info.updateOf.valid() && !core::isFlags(seen.observed.values))
    m_updating[defined.info.updateOf] = seen.observed.values;
  seen.value = keepsValue(tensor) ? here.clone() : withoutBytes(here);
  m_seconds += std::chrono::duration<double>(Clock::now() - start).count();
  m_bytes += here.bytes();
  add(tensor, std::move(seen));
  return Ok{};
}

Status ForeignRecording::sawSame(TensorId tensor, TensorId other) {
  if (!m_selected) return Ok{};
  MSDBG_TRY(checkSeen(tensor));
  if (!m_definitions.has(other) || m_seenAt.size() <= other.index() ||
      m_seenAt[other.index()].first != m_turn)
    return Ok{};  // that one was not looked at, so this one is not
  Seen seen = m_seen[m_seenAt[other.index()].second];
  // A gradient may be another view of the same bytes: [1, n] where the parameter has [n].
  seen.value = inShapeOf(seen.value, m_definitions.tensor(tensor).info.shape);
  if (m_definitions.widen(tensor, seen.value.shape().dims())) m_stale = true;
  seen.tensor = tensor;
  add(tensor, std::move(seen));
  return Ok{};
}

void ForeignRecording::add(TensorId tensor, Seen seen) {
  auto& [turn, place] = grown(m_seenAt, tensor.index(), m_definitions.tensors().size(),
                              std::pair<std::int64_t, std::size_t>{0, 0});
  if (turn == m_turn) {  // of two values of one name the later one counts
    m_seen[place] = std::move(seen);
    return;
  }
  turn = m_turn;
  place = m_seen.size();
  m_seen.push_back(std::move(seen));
  if (m_definitions.tensor(tensor).info.isSource()) m_used.sources.push_back(tensor);
}

Status ForeignRecording::keep(TensorId tensor, const SeenValue& value) {
  if (!m_selected) return Ok{};
  MSDBG_TRY(checkSeen(tensor));
  if (const auto update = m_updateOf.find(tensor); update != m_updateOf.end() && wantsFlags(update->second))
    return Ok{};
  const auto start = Clock::now();
  const core::Tensor here = borrowed(value);
  core::Tensor& kept = m_kept[tensor];
  if (!kept.valid() || kept.dtype() != here.dtype() || kept.shape() != here.shape())
    kept = here.clone();
  else if (here.bytes() > 0)
    std::memcpy(kept.raw(), here.raw(), here.bytes());
  m_seconds += std::chrono::duration<double>(Clock::now() - start).count();
  m_bytes += here.bytes();
  return Ok{};
}

// The one that there is where it has all that was used, else a new one.
// Every iteration has room for the statistics of the whole graph. After some iterations at level ops those of
// level train would go on to take as much: once enough of them have needed no more than the graph before,
// that is the graph again.
Status ForeignRecording::leaveWideGraph() {
  constexpr std::int64_t kEnough = 20;  // where wide and narrow ones take turns the graph stays
  if (!m_narrow) return Ok{};
  m_fitNarrow = m_narrow->has(m_definitions, m_used) ? m_fitNarrow + 1 : 0;
  if (m_fitNarrow < kEnough) return Ok{};
  return take(std::move(m_narrow));
}

Status ForeignRecording::useGraph() {
  if (m_graph && !m_stale && m_graph->has(m_definitions, m_used)) return leaveWideGraph();
  MSDBG_ASSIGN(GraphVersion made, GraphVersion::make(m_definitions, m_used, m_graph.get()));
  const bool muchWider = m_graph && made.graph().tensors().size() > 2 * m_graph->graph().tensors().size();
  if (muchWider) m_narrow = std::move(m_graph);
  return take(std::make_unique<GraphVersion>(std::move(made)));
}

Status ForeignRecording::take(std::unique_ptr<GraphVersion> graph) {
  m_fitNarrow = 0;
  MSDBG_ASSIGN(Decisions decisions, Decisions::make(graph->graph(), m_options, m_settings.rank));
  m_graph = std::move(graph);
  m_decisions.emplace(std::move(decisions));
  m_stale = false;
  m_recorder->graphReady(m_graph->graph());
  if (++m_versions == kManyVersions && !std::exchange(m_saidVersions, true))
    core::logWarn(
        "the program computed something else in " + std::to_string(m_versions) + " of " +
        std::to_string(m_iterations + 1) +
        " iterations (loops of other lengths, or data that are prepared within the loop): each has a "
        "graph of its own, so that recording is slow and large; --iterations 0-49, or --level modules, "
        "records less");
  return Ok{};
}

void ForeignRecording::deliver() {
  m_recorder->iterationStarted(m_iteration);
  for (const Seen& seen : m_seen) {
    const TensorId here = m_graph->tensor(seen.tensor);
    if (!here.valid()) continue;
    const core::Tensor value = inShapeOf(seen.value, m_graph->graph().tensor(here).shape);
    m_recorder->tensorReady(
        {.iteration = m_iteration, .tensor = here, .value = value, .observed = &seen.observed});
  }
  m_recorder->spent(Stage::kStatistics, m_seconds, m_bytes);
}

// With the norm of the gradients, where the program did not compute one itself.
core::Scalars ForeignRecording::withNorm(core::Scalars scalars) const {
  constexpr const char* kName = "gradient_norm";
  if (std::ranges::find(scalars, kName, &core::Scalars::value_type::first) != scalars.end()) return scalars;
  GradientNorm norm;
  for (const Seen& seen : m_seen) {
    const TensorId of = m_definitions.tensor(seen.tensor).info.gradientOf;
    if (of.valid() && core::isFlags(seen.observed.values)) return scalars;  // nobody knows
    if (of.valid()) norm.add(of, seen.observed.values);
  }
  if (const auto value = norm.value()) scalars.emplace_back(kName, *value);
  return scalars;
}

void ForeignRecording::forget() {
  m_updated = std::exchange(m_updating, {});
  m_iteration = {};
  m_selected = false;
  m_used = {};
  m_seen.clear();
  m_seconds = 0;
  m_bytes = 0;
}

Status ForeignRecording::end(const core::Scalars& scalars) {
  if (!m_iteration.valid()) return Error(ErrorCode::kUsage, "no iteration was begun");
  Status status = Ok{};
  if (m_selected) {
    status = useGraph();
    if (status.ok()) {
      deliver();
      m_recorder->iterationFinished(m_iteration, withNorm(scalars));
    }
  }
  ++m_iterations;
  m_ended = m_iteration;
  // Where training went on with another loss, that: "loss/1".
  const auto loss = std::ranges::find_if(scalars, [](const auto& scalar) {
    return scalar.first == "loss" || scalar.first.starts_with("loss/");
  });
  m_place->progress(m_iteration.value + 1,
                    loss == scalars.end() ? std::nullopt : std::optional(loss->second));
  forget();
  return status;
}

Status ForeignRecording::metric(const std::string& name, double value) {
  if (name.empty()) return Error(ErrorCode::kUsage, "metric: it has no name");
  m_recorder->metricsGiven(m_ended, {{name, value}});
  return Ok{};
}

// Backward or an update ran: more than an evaluation after the last step.
bool ForeignRecording::trained() const {
  return std::ranges::any_of(m_used.nodes, [&](NodeId node) {
    const core::Phase phase = m_definitions.node(node).phase;
    return phase == core::Phase::kBackward || phase == core::Phase::kUpdate;
  });
}

Status ForeignRecording::failedAt(NodeId node) {
  if (!m_iteration.valid()) return Error(ErrorCode::kUsage, "no iteration was begun");
  if (!m_definitions.has(node))
    return Error(ErrorCode::kUsage, "there is no node " + std::to_string(node.value) + " to fail at");
  m_failedAt = node;
  return Ok{};
}

void ForeignRecording::finish(RunEnd how) {
  if (std::exchange(m_finished, true) || !m_recorder) return;  // it could not begin
  const bool wanted = how.state != "finished" || trained();
  const bool some = !m_seen.empty() || m_failedAt.valid();
  if (m_iteration.valid() && m_selected && some && wanted) {
    const Status usable = useGraph();
    if (usable.ok())
      deliver();
    else
      core::logWarn("the last, incomplete iteration is not recorded: " + usable.error().message());
  }
  if (how.state == "failed") {
    how.rank = m_settings.rank.value;
    if (!how.iteration && m_iteration.valid()) how.iteration = m_iteration.value;
    if (m_failedAt.valid()) how.node = m_definitions.node(m_failedAt).name;
  }
  forget();
  m_place->end(how, m_recorder->finish(how), m_iterations);
}

std::optional<std::string> ForeignRecording::stopHit() const {
  if (!m_options.onHit.stop || m_finished) return std::nullopt;
  const std::optional<RunEnd> hit = m_recorder->hitWindowDone() ? m_recorder->firstHit() : std::nullopt;
  return hit ? jsonText(endToJson(*hit)) : "";
}

Status ForeignRecording::finishOnHit(const std::string& hit) {
  MSDBG_ASSIGN(RunEnd how, guarded(hit, endFromJson));
  how.state = "stopped";
  finish(how);
  return Ok{};
}

void ForeignRecording::leaveToParent() noexcept { closeFilesOf(m_settings.run); }

}  // namespace msdbg::dump
