#include "tests/watchpoints/stages.h"

#include <cmath>

#include "core_engine/tensor/element_types.h"

namespace msdbg::test {

using namespace core;

namespace {

class Builder {
 public:
  Builder(int rank) : m_rank(rank) {}
  Graph graph{"net"};

  TensorId source(const std::string& name, TensorRole role, int line) {
    TensorInfo info = floats(role);
    info.name = name;
    info.frames = {frame(line)};
    info.trainable = role == TensorRole::kParameter;
    share(info, info.trainable);
    return graph.addSource(std::move(info));
  }
  TensorId node(const std::string& type, Phase phase, std::vector<TensorId> inputs, int line,
                TensorId gradientOf = {}, bool shared = false, const Attributes& attributes = {},
                DType dtype = DType::Float32) {
    TensorInfo output = floats(phase == Phase::kForward ? TensorRole::kActivation : TensorRole::kGradient);
    output.gradientOf = gradientOf;
    output.dtype = dtype;
    if (type == "mean") output.role = TensorRole::kLoss, output.shape = {};
    share(output, shared);
    const NodeId id =
        graph.addNode(type, gradientOf.valid() || m_backward ? "grad/net" : "net", phase, std::move(inputs),
                      attributes, {output}, {frame(line)}, {}, phase == Phase::kCollective ? "c10d" : "aten");
    return graph.node(id).outputs[0];
  }
  TensorId receive(int from, int line) {
    return node("recv_", Phase::kCollective, {}, line, {}, false, {{"peer", std::int64_t{from}}});
  }
  void send(TensorId what, int to, int line) {
    node("send", Phase::kCollective, {what}, line, {}, false, {{"peer", std::int64_t{to}}});
  }
  void backward() { m_backward = true; }
  std::vector<std::int64_t> group() const {
    return m_rank < 2 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{2, 3};
  }

 private:
  FrameId frame(int line) { return graph.addFrame({"train.py", line, "step", "", false}); }
  static TensorInfo floats(TensorRole role) {
    TensorInfo info;
    info.shape = {2};
    info.role = role;
    return info;
  }
  void share(TensorInfo& info, bool shared) const {
    info.replicated = shared;
    if (!shared) return;
    for (const std::int64_t rank : group()) info.replicas.push_back(static_cast<std::int32_t>(rank));
  }
  int m_rank;
  bool m_backward = false;
};

/// x * w -> to the other stage; back comes its gradient, whose sum over the replicas is that of w.
Graph firstStage(int rank) {
  Builder b(rank);
  const TensorId x = b.source("net/x", TensorRole::kInput, 1),
                 w = b.source("net/w", TensorRole::kParameter, 2);
  b.send(b.node("mul.Tensor", Phase::kForward, {x, w}, 3), rank + 2, 4);
  b.backward();
  const TensorId back = b.receive(rank + 2, 4);
  const TensorId local = b.node("mul_backward", Phase::kBackward, {back, x}, 3, w);
  b.node("allreduce_", Phase::kCollective, {local}, 5, w, true, {{"group", b.group()}});
  return std::move(b.graph);
}

/// What comes, times w, divided by b: the loss is its mean.
Graph lastStage(int rank, bool log) {
  Builder b(rank);
  const TensorId w = b.source("net/w", TensorRole::kParameter, 2),
                 divisor = b.source("net/b", TensorRole::kInput, 6);
  TensorId x = b.receive(rank - 2, 4);
  const TensorId unused = b.node("mul.Tensor", Phase::kForward, {x, w}, 3);
  TensorId side = b.node("abs", Phase::kForward, {unused}, 7, {}, false, {}, DType::Float16);
  for (int i = 0; i < 3; ++i)
    side = b.node("sin", Phase::kForward, {side}, 8, {}, false, {}, DType::BFloat16);
  if (log) x = b.node("log", Phase::kForward, {x}, 9);
  const TensorId y = b.node("div.Tensor", Phase::kForward, {x, divisor}, 10);
  b.node("mean", Phase::kForward, {y}, 11);
  b.backward();
  b.send(b.node("div_backward", Phase::kBackward, {y, divisor}, 10), rank - 2, 4);
  return std::move(b.graph);
}

}  // namespace

Graph stageGraph(int rank, bool log) { return rank < 2 ? firstStage(rank) : lastStage(rank, log); }

Stages::Stages(int iterations, int logFrom)
    : source(stageGraph(0, false), 4, iterations), m_logFrom(logFrom) {
  for (const int rank : {1, 2, 3}) source.setGraph(Rank(rank), Iteration(0), stageGraph(rank, false));
  if (logFrom >= 0)
    for (const int rank : {2, 3}) source.setGraph(Rank(rank), Iteration(logFrom), stageGraph(rank, true));
  for (int rank = 0; rank < 4; ++rank)
    for (int iteration = 0; iteration < iterations; ++iteration) recordAll(rank, iteration);
}

void Stages::record(Rank rank, Iteration iteration, const std::string& name, std::vector<float> values) {
  const TensorId id = source.id(name);
  const Shape shape = values.size() == 1 ? Shape() : Shape({static_cast<std::int64_t>(values.size())});
  Tensor tensor(source.graph().tensor(id).dtype, shape);
  visitDType(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    for (std::size_t i = 0; i < values.size(); ++i)
      if constexpr (std::is_floating_point_v<T>)
        tensor.data<T>()[i] = static_cast<T>(values[i]);
      else if constexpr (SmallFloat<T>)
        tensor.data<T>()[i] = roundTo<T>(values[i]);
  });
  source.record(rank, iteration, id, tensor);
}

void Stages::recordAll(int rank, int iteration) {
  const float step = static_cast<float>(iteration), replica = static_cast<float>(rank % 2);
  const auto put = [&](const std::string& name, std::vector<float> values) {
    record(Rank(rank), Iteration(iteration), name, std::move(values));
  };
  const float sent0 = (1 + replica) * 0.5F, sent1 = (2 + replica) * 0.25F;  // x * w of stage 0
  const float back0 = 0.1F + replica + step / 8, back1 = 0.2F + step / 8;
  const auto back = [&](float of) { return std::vector{0.1F + of + step / 8, back1}; };
  if (rank < 2) {
    put("net/x", {1 + replica, 2 + replica});
    put("net/w", {0.5F, 0.25F});
    put("net/mul.Tensor-op1", {sent0, sent1});
    put("net/send-op1", {sent0, sent1});
    put("grad/net/recv_-op1", {back0, back1});
    put("grad/net/mul_backward-op1", {back0, back1});
    put("grad/net/allreduce_-op1", {back(0)[0] + back(1)[0], back(0)[1] + back(1)[1]});
    return;
  }
  put("net/w", {0.75F, 2});
  put("net/b", {2, 1});
  put("net/recv_-op1", {sent0, sent1});
  put("net/mul.Tensor-op1", {sent0 * 0.75F, sent1 * 2});
  put("net/abs-op1", {sent0 * 0.75F, sent1 * 2});
  for (const char* each : {"1", "2", "3"}) put(std::string("net/sin-op") + each, {0.25F, 0.5F});
  if (log(rank, iteration)) put("net/log-op1", {std::log(sent0), std::log(sent1)});
  put("net/div.Tensor-op1", {sent0 / 2 + 1, sent1 + 1});
  put("net/mean-op1", {1 + 1 / (step + 2)});
  put("grad/net/div_backward-op1", {back0, back1});
  put("grad/net/send-op1", {back0, back1});
}

}  // namespace msdbg::test
