#include "tests/dump/recorded_run.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace msdbg::test {
namespace {

using core::DType;
using core::Phase;
using core::Shape;
using core::TensorInfo;
using core::TensorRole;

TensorInfo info(DType dtype, Shape shape, TensorRole role, std::string name = "", std::string alias = "") {
  TensorInfo tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.role = role;
  tensor.name = std::move(name);
  tensor.alias = std::move(alias);
  return tensor;
}

void require(const core::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error().message());
}

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

}  // namespace

core::Graph smallGraph(bool large, const std::string& sourceFile) {
  core::Graph g("network");
  std::vector<core::FrameId> frames;
  if (!sourceFile.empty()) frames.push_back(g.addFrame({sourceFile, 2, "main", "", false}));
  const auto x = g.addSource(info(DType::Float32, {8, 4}, TensorRole::kInput, "network/x"));
  g.addSource(info(DType::Int64, {8}, TensorRole::kLabel, "network/label"));
  const auto weight = g.addSource(info(DType::Float32, {5, 4}, TensorRole::kParameter, "network/a/weight"));
  g.addSource(info(DType::Float64, {3}, TensorRole::kConstant, "network/wide"));
  g.addSource(info(DType::UInt8, {16}, TensorRole::kConstant, "network/bytes"));
  const auto output = [&](core::NodeId node) { return g.node(node).outputs[0]; };
  const auto activation = [](DType dtype, Shape shape) {
    return info(dtype, std::move(shape), TensorRole::kActivation);
  };
  const auto gemm = g.addNode("Opaque", "network/a", Phase::kForward, {x, weight}, {},
                              {activation(DType::Float32, {8, 5})}, frames);
  const auto relu = g.addNode("Relu", "network/a", Phase::kForward, {output(gemm)}, {},
                              {activation(DType::Float32, {8, 5})}, frames);
  const auto tanh = g.addNode("Tanh", "network", Phase::kForward, {output(relu)}, {},
                              {activation(DType::Float32, {8, 5})}, frames);
  g.addNode("Mask", "network", Phase::kForward, {output(tanh)}, {},
            {activation(DType::Bool, {8, 5}), activation(DType::Int32, {2})}, frames);
  if (large) {
    g.addNode("Big", "network", Phase::kForward, {output(tanh)}, {},
              {activation(DType::Float32, {300, 1000})}, frames);
    g.addNode("Sparse", "network", Phase::kForward, {output(tanh)}, {},
              {activation(DType::Float32, {200000})}, frames);
  }
  g.addNode("Loss", "network", Phase::kForward, {output(tanh)}, {},
            {info(DType::Float32, {}, TensorRole::kLoss)}, frames);
  TensorInfo updated = info(DType::Float32, {5, 4}, TensorRole::kUpdated, "", "next(network/a/weight)");
  updated.updateOf = weight;
  g.addNode("Update", "update/network/a", Phase::kUpdate, {weight}, {}, {updated}, frames);
  return g;
}

core::Graph everyDTypeGraph() {
  core::Graph g("network");
  core::TensorId half;
  for (const DType dtype : core::kDTypes) {
    const std::string name(core::dtypeName(dtype));
    const auto id = g.addSource(info(dtype, {3, 5}, TensorRole::kConstant, "network/" + name));
    if (dtype == DType::Float16) half = id;
    if (core::isComplex(dtype) || core::dtypeSize(dtype) < 4)
      g.addSource(info(dtype, {33, 4096}, TensorRole::kConstant, "network/large/" + name));
  }
  g.addNode("Relu", "network", Phase::kForward, {half}, {},
            {info(DType::Float16, {3, 5}, TensorRole::kActivation)}, {});
  return g;
}

core::Tensor valueOf(const TensorInfo& tensor, std::int64_t iteration, std::int64_t rank) {
  core::Tensor value = core::Tensor::zeros(tensor.dtype, tensor.shape);
  const auto seed = static_cast<std::uint64_t>(tensor.id.value * 1000003 + iteration * 1009 + rank * 17 + 1);
  const bool sparse = tensor.name.find("Sparse") != std::string::npos;
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const std::uint64_t bits = mix(seed * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(i));
    if (sparse && bits % 16 != 0) continue;
    const double real = static_cast<double>(bits >> 11) / (1ull << 52) - 1;
    core::visitDType(tensor.dtype, [&](auto type) {
      using T = decltype(type);
      const auto at = static_cast<std::size_t>(i);
      if constexpr (std::is_floating_point_v<T>)
        value.data<T>()[at] = static_cast<T>(real);
      else if constexpr (core::SmallFloat<T>)
        value.data<T>()[at] = core::roundTo<T>(real);
      else if constexpr (core::ComplexNumber<T>)
        value.data<T>()[at] = {static_cast<decltype(T::real)>(real),
                               static_cast<decltype(T::real)>(bits % 100)};
      else if constexpr (std::is_same_v<T, bool>)
        value.data<T>()[at] = bits % 2 != 0;
      else
        value.data<T>()[at] = static_cast<T>(bits % 100);
    });
  }
  return value;
}

core::TensorId tensorNamed(const core::Graph& graph, const std::string& name) {
  const auto id = graph.findTensor(name);
  if (!id) throw std::runtime_error("no tensor " + name);
  return *id;
}

void writeInfo(const std::filesystem::path& run, int ranks, const std::string& state) {
  dump::RunInfo runInfo;
  runInfo.version = "0.1.0";
  runInfo.command = {"train", "--steps", "5"};
  runInfo.ranks = ranks;
  runInfo.end.state = state;
  std::filesystem::create_directories(run);
  require(dump::writeRunInfo(run, runInfo));
}

void feed(dump::Recorder& recorder, const core::Graph& graph, std::int64_t iteration, std::int64_t rank,
          std::optional<core::TensorId> stopBefore) {
  const core::Iteration now(iteration);
  recorder.iterationStarted(now);
  for (const TensorInfo& tensor : graph.tensors()) {
    if (stopBefore && tensor.id == *stopBefore) return;
    const core::Tensor value = valueOf(tensor, iteration, rank);
    const core::Tensor previous =
        tensor.updateOf.valid() ? valueOf(graph.tensor(tensor.updateOf), iteration, rank) : core::Tensor();
    recorder.tensorReady({now, tensor.id, value, tensor.updateOf.valid() ? &previous : nullptr});
  }
  recorder.iterationFinished(now,
                             {{"loss", 2.5 / static_cast<double>(iteration + 1)}, {"learning_rate", 0.01}});
}

void record(const std::filesystem::path& run, const core::Graph& graph, const dump::RecordOptions& options,
            const Recording& recording) {
  if (!std::filesystem::exists(run / "run.json")) writeInfo(run, recording.ranks);
  auto recorder = dump::Recorder::create(
      {run, core::Rank(recording.rank), recording.ranks, 1, nullptr, recording.pace}, options);
  if (!recorder.ok()) throw std::runtime_error(recorder.error().message());
  (*recorder)->graphReady(graph);
  for (std::int64_t i = 0; i < recording.iterations; ++i) {
    const std::uint64_t before = (*recorder)->bytesWritten();
    feed(**recorder, graph, i, recording.rank);
    if (!recording.commitEach) continue;
    (*recorder)->requestCommit();
    if (!waitUntil([&] { return (*recorder)->bytesWritten() > before; }))
      throw std::runtime_error("not committed");
  }
  if (recording.interruptedBefore)
    feed(**recorder, graph, recording.iterations, recording.rank, recording.interruptedBefore);
  require((*recorder)->finish(recording.end));
  if (recording.rank + 1 == recording.ranks) writeInfo(run, recording.ranks, recording.end.state);
}

bool waitUntil(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

std::unique_ptr<dump::RunReader> openRun(const std::filesystem::path& run) {
  auto reader = dump::RunReader::open(run);
  if (!reader.ok()) throw std::runtime_error(reader.error().message());
  return std::move(*reader);
}

std::string firstDifference(dump::RunReader& reader, std::int64_t rank, std::int64_t iteration) {
  const core::GraphPart* part = reader.part(core::Rank(rank), core::Iteration(iteration));
  for (const TensorInfo& tensor : reader.graph().tensors()) {
    if (part && !part->has(tensor.id)) continue;
    TensorInfo asFed = part ? part->info(reader.graph(), tensor.id) : tensor;
    if (part) asFed.id = part->localTensor(tensor.id);
    const core::Tensor fed = valueOf(asFed, iteration, rank);
    const auto value = reader.tensor(core::Rank(rank), core::Iteration(iteration), tensor.id);
    if (!value.ok()) return value.error().message();
    const bool same = value->dtype() == fed.dtype() && value->shape() == fed.shape() &&
                      std::memcmp(value->raw(), fed.raw(), fed.bytes()) == 0;
    if (!same) return tensor.fullName() + " differs in iteration " + std::to_string(iteration);
    const auto row = reader.statistics(core::Rank(rank), core::Iteration(iteration), tensor.id);
    if (!row.ok()) return row.error().message();
    if (row->values.hash != core::hashTensor(fed))
      return tensor.fullName() + " has another hash in its statistics";
  }
  return "";
}

std::string readText(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void writeText(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

dump::RecordOptions withoutReplay(dump::RecordOptions options) {
  options.checkpointEvery = dump::RecordOptions::kNoCheckpoints;
  options.batches = false;
  return options;
}

std::size_t segmentsIn(const std::filesystem::path& run) {
  return dump::parseJournal(readText(run / "rank_0" / "journal")).segments.size();
}

}  // namespace msdbg::test
