#include "tests/gui/support/strange_runs.h"

#include "tests/dump/recorded_run.h"

namespace msdbg::test {
namespace {

using core::DType;
using core::TensorRole;

core::TensorInfo tensor(DType dtype, core::Shape shape, TensorRole role, std::string name = "") {
  core::TensorInfo info;
  info.dtype = dtype;
  info.shape = std::move(shape);
  info.role = role;
  info.name = std::move(name);
  return info;
}

core::Graph strangeGraph() {
  core::Graph g("net<b>&work");
  const std::vector<core::FrameId> frames = {
      g.addFrame({"a folder/<b>tr&ain</b>'\"\n.py", 2, "ma<i>in&", "x = <b>y</b> & 'z'", false})};
  core::TensorId at = g.addSource(tensor(DType::Float32, {8, 4}, TensorRole::kInput, "n/x <img src=x>"));
  const auto weight = g.addSource(tensor(DType::Float32, {5, 4}, TensorRole::kParameter, "n/<b>w<b>&'\"\n"));
  g.addSource(tensor(DType::Float32, {}, TensorRole::kHyperparameter, "n/scalar"));
  g.addSource(tensor(DType::Float32, {3, 0, 7}, TensorRole::kConstant, "n/empty"));
  g.addSource(tensor(DType::Int64, {1, 1, 1, 2, 1, 1, 1, 2}, TensorRole::kConstant, "n/eight"));
  for (const char* scope : {"n/<b>bold<b>", "n/a&b", "n/it's", "n/quo\"te", "n/new\nline", "n/ünï→çödé",
                            "n/$HOME`ls`;rm", "n/*?[x]", "n/-dash", "n/%1 %2", "n/back\\slash"}) {
    const auto node = g.addNode("<i>Op&", scope, core::Phase::kForward, {at, weight},
                                {{"<b>key<b>", std::string("v&\n<i>")}},
                                {tensor(DType::Float32, {8, 5}, TensorRole::kActivation)}, frames);
    at = g.node(node).outputs[0];
  }
  return g;
}

}  // namespace

std::filesystem::path strangeRun(const std::filesystem::path& run) {
  record(run, strangeGraph(), {}, {.iterations = 3});
  return run;
}

std::filesystem::path unevenRun(const std::filesystem::path& run) {
  constexpr std::int64_t kIterations[] = {4, 0, 2};
  for (std::int64_t rank = 0; rank < 3; ++rank)
    record(run, smallGraph(), {},
           {.iterations = kIterations[rank],
            .rank = rank,
            .ranks = 3,
            .end = {.state = "killed", .message = "rank 1 was killed by signal 9 (Killed)"}});
  return run;
}

std::filesystem::path runOfLostRanks(const std::filesystem::path& run) {
  for (const std::int64_t rank : {0, 63})
    record(run, smallGraph(), {}, {.iterations = 1, .rank = rank, .ranks = 64});
  return run;
}

std::filesystem::path runWithoutIterations(const std::filesystem::path& run) {
  record(run, smallGraph(), {}, {.iterations = 0});
  return run;
}

struct RunningRecording::Impl {
  core::Graph graph = smallGraph();
  std::unique_ptr<dump::Recorder> recorder;
  std::int64_t next = 0;
};

RunningRecording::RunningRecording(const std::filesystem::path& run) : m_impl(std::make_unique<Impl>()) {
  if (!std::filesystem::exists(run / "run.json")) writeInfo(run);
  auto recorder = dump::Recorder::create({run, core::Rank(0), 1, 1}, {});
  if (!recorder.ok()) throw std::runtime_error(recorder.error().message());
  m_impl->recorder = std::move(*recorder);
  m_impl->recorder->graphReady(m_impl->graph);
}

RunningRecording::~RunningRecording() = default;

void RunningRecording::changeGraph() {
  m_impl->graph = smallGraph(true);
  m_impl->recorder->graphReady(m_impl->graph);
}

void RunningRecording::recordIteration() {
  const std::uint64_t before = m_impl->recorder->bytesWritten();
  feed(*m_impl->recorder, m_impl->graph, m_impl->next++);
  m_impl->recorder->requestCommit();
  if (!waitUntil([&] { return m_impl->recorder->bytesWritten() > before; }))
    throw std::runtime_error("the iteration was not committed");
}

}  // namespace msdbg::test
