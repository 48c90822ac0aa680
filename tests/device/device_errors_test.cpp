// What data does wrong on a device is said as on the CPU: the node, its line and the place; and nobody is
// shown what was computed from it.
#include <catch2/catch.hpp>
#include <set>

#include "core_engine/ops/functions.h"
#include "core_engine/runtime/executor.h"

using namespace msdbg::core;

namespace {

struct Embedding {
  Graph graph{"network"};
  Value ids = graph.input("ids", {4}, DType::Int64),
        table = graph.parameter("table", {6, 3}, Init::kaimingNormal());
  Value hidden = relu(table), picked = gather(hidden, ids), out = tanh(picked);
};

class Shown : public Observer {
 public:
  explicit Shown(const Graph& graph) : m_graph(graph) {}
  void graphReady(const Graph&) override {}
  void iterationStarted(Iteration) override {}
  void tensorReady(const TensorReady& ready) override {
    names.insert(m_graph.tensor(ready.tensor).fullName());
  }
  ValueWish valueWish(Iteration, TensorId) override { return {.value = false, .statistics = true}; }
  void kernelStarted(Iteration, KernelId kernel) override {
    at = m_graph.node(m_graph.kernels()[kernel.index()].nodes.front()).name;
  }
  void iterationFinished(Iteration, const Scalars&) override {}
  std::set<std::string> names;
  std::string at;

 private:
  const Graph& m_graph;
};

struct Failed {
  std::string message, at;
  std::set<std::string> shown;
};
Failed failing(BackendKind backend) {
  Embedding e;
  const auto executor = Executor::create(e.graph, {.backend = backend, .observed = true}).orThrow();
  Shown observer(e.graph);
  const auto feed = [&](std::int64_t last) {
    return Feeds{{e.ids.id(), Tensor::of<std::int64_t>({4}, std::vector<std::int64_t>{0, 1, 5, last})}};
  };
  for (std::int64_t i = 0; i < 3; ++i) REQUIRE(executor->run(Iteration(i), feed(2), &observer).ok());
  observer.names.clear();
  const Status status = executor->run(Iteration(3), feed(6), &observer);
  REQUIRE_FALSE(status.ok());
  Failed failed{status.error().message(), observer.at, observer.names};
  CHECK(executor->run(Iteration(4), feed(-6), &observer).ok());  // it goes on
  return failed;
}

}  // namespace

TEST_CASE("A wrong index is the same error on a device, at the same node") {
  const Failed cpu = failing(BackendKind::kFast), device = failing(BackendKind::kEmulated);
  CHECK(device.message == cpu.message);
  CHECK(cpu.message.find("network/Gather-op1 (") == 0);
  CHECK(device.at == "network/Gather-op1");
  CHECK((device.shown == cpu.shown));
  CHECK(device.shown.contains("network/Relu-op1:0"));
  CHECK_FALSE(device.shown.contains("network/Tanh-op1:0"));
}
