#include "core_engine/graph/verify.h"

#include <catch2/catch.hpp>

#include "core_engine/ops/functions.h"
#include "tests/graph/sample_graph.h"

using namespace msdbg;
using namespace msdbg::core;
using test::sampleGraph;
using test::Tables;

namespace {

/// The error of a sample graph broken by f.
template <typename F>
std::string broken(F&& f) {
  Tables tables(sampleGraph());
  f(tables);
  const Status status = verify(tables.graph());
  if (status.ok()) return "no error";
  CHECK(status.error().code() == ErrorCode::kInternal);
  return status.error().message();
}

void checkBroken(const std::string& message, const std::string& who, const std::string& rule) {
  INFO(message);
  CHECK(message.find(who) != std::string::npos);
  CHECK(message.find(rule) != std::string::npos);
}

/// Relu, Reshape, Gemm on known shapes, to break known operators.
Graph knownOperators() {
  Graph g;
  const Value x = g.input("x", {2, 3});
  reshape(relu(x), {3, 2});
  return g;
}
template <typename F>
std::string brokenOperator(F&& f) {
  Tables tables(knownOperators());
  f(tables);
  const Status status = verify(tables.graph());
  return status.ok() ? "no error" : status.error().message();
}

}  // namespace

TEST_CASE("A valid graph passes, with unknown operators and dimensions, with and without kernels") {
  Graph g = sampleGraph();
  CHECK(verify(g).ok());
  g.setKernels({});
  CHECK(verify(g).ok());
  CHECK(verify(Graph()).ok());
  CHECK(verify(knownOperators()).ok());
}

TEST_CASE("verify finds ids that are not places in their tables") {
  checkBroken(broken([](Tables& t) { t.tensors[2].id = TensorId(3); }), "network/fc/Relu-op1:0",
              "id that is not its place");
  checkBroken(broken([](Tables& t) { t.nodes[1].id = NodeId(0); }), "network/", "");
  checkBroken(broken([](Tables& t) { t.kernels[1].id = KernelId(5); }), "kernel opaque",
              "id that is not its place");
}

TEST_CASE("verify finds inputs that do not exist or come too late") {
  checkBroken(broken([](Tables& t) { t.nodes[1].inputs[0] = TensorId(99); }), "network/Fork-op1",
              "does not exist");
  checkBroken(broken([](Tables& t) { t.nodes[1].inputs[0] = TensorId(-7); }), "network/Fork-op1",
              "does not exist");
  checkBroken(broken([](Tables& t) { t.nodes[1].inputs[0] = TensorId(5); }), "network/Fork-op1",
              "before it is computed");
  checkBroken(broken([](Tables& t) { t.nodes[1].inputs[0] = TensorId(4); }), "network/Fork-op1",
              "before it is computed");
}

TEST_CASE("verify finds producers, slots and names that disagree") {
  checkBroken(broken([](Tables& t) { t.tensors[4].slot = 0; }), "network/Fork-op1:0", "is not the output");
  checkBroken(broken([](Tables& t) { t.tensors[4].slot = -1; }), "network/Fork-op1", "is not the output");
  checkBroken(broken([](Tables& t) { t.tensors[4].producer = NodeId(2); }), "Fork-op1:1",
              "is not the output");
  checkBroken(broken([](Tables& t) { t.tensors[4].producer = NodeId(77); }), "Fork-op1:1", "does not exist");
  checkBroken(broken([](Tables& t) { t.tensors[4].producer = NodeId(-3); }), "Fork-op1:1", "does not exist");
  checkBroken(broken([](Tables& t) { t.tensors[4].producer = {}; }), "Fork-op1:1", "slot other than 0");
  checkBroken(broken([](Tables& t) { t.nodes[1].outputs.pop_back(); }), "Fork-op1:1", "is not the output");
  checkBroken(broken([](Tables& t) { t.nodes[1].outputs.push_back(TensorId(0)); }), "Fork-op1",
              "another producer or slot");
  checkBroken(broken([](Tables& t) { t.nodes[1].outputs.push_back(TensorId(50)); }), "Fork-op1",
              "does not exist");
  checkBroken(broken([](Tables& t) { t.tensors[5].name = "network/Other-op1"; }), "Mystery-op1",
              "another producer or slot");
}

TEST_CASE("verify finds names that are missing, twice, or not in their scope") {
  checkBroken(broken([](Tables& t) { t.tensors[0].name = ""; }), "tensor :0", "no name");
  checkBroken(broken([](Tables& t) { t.tensors[1].name = "network/x"; }), "network/x:0",
              "name of another tensor");
  checkBroken(broken([](Tables& t) { t.nodes[2].name = t.tensors[5].name = "network/Fork-op1"; }),
              "network/Fork-op1", "name of another");
  checkBroken(broken([](Tables& t) { t.nodes[0].scope = "network"; }), "network/fc/Relu-op1", "scope");
  checkBroken(broken([](Tables& t) { t.nodes[1].opType = ""; }), "network/Fork-op1", "no type");
}

TEST_CASE("verify finds nodes of one name that have no outputs") {
  Graph g;
  g.addNode("Print", "network", Phase::kForward, {}, {}, {}, {});
  g.addNode("Print", "network", Phase::kForward, {}, {}, {}, {});
  Tables tables(g);
  CHECK(verify(tables.graph()).ok());
  tables.nodes[1].name = tables.nodes[0].name;
  checkBroken(verify(tables.graph()).error().message(), "network/Print-op1", "name of another node");
}

TEST_CASE("verify finds aliases that name another tensor") {
  checkBroken(broken([](Tables& t) { t.tensors[7].alias = "grad(network/fc/weight)"; }), "MysteryUpdate-op1",
              "alias");
  checkBroken(broken([](Tables& t) { t.tensors[7].alias = "network/x:0"; }), "MysteryUpdate-op1", "alias");
  checkBroken(broken([](Tables& t) { t.tensors[7].alias = "network/x"; }), "MysteryUpdate-op1", "alias");
}

TEST_CASE("verify finds references out of range") {
  checkBroken(broken([](Tables& t) { t.nodes[0].frames.push_back(FrameId(9)); }), "Relu-op1", "source frame");
  checkBroken(broken([](Tables& t) { t.tensors[0].frames = {FrameId(-1)}; }), "network/x:0", "source frame");
  checkBroken(broken([](Tables& t) { t.tensors[6].gradientOf = TensorId(88); }), "MysteryGrad-op1:0",
              "gradient of");
  checkBroken(broken([](Tables& t) { t.tensors[7].updateOf = TensorId(88); }), "MysteryUpdate-op1:0",
              "update of");
}

TEST_CASE("verify finds impossible shapes") {
  checkBroken(broken([](Tables& t) { t.tensors[0].shape = Shape{4, -2}; }), "network/x:0", "below -1");
  checkBroken(broken([](Tables& t) {
                t.tensors[0].shape = Shape{1ll << 40, 1ll << 40};
              }),
              "network/x:0", "too large");
}

TEST_CASE("verify finds wrong derivations") {
  checkBroken(broken([](Tables& t) { t.nodes[1].derivedFrom = NodeId(0); }), "Fork-op1",
              "forward node but derived");
  checkBroken(broken([](Tables& t) { t.nodes[3].derivedFrom = NodeId(3); }), "MysteryGrad-op1",
              "does not precede");
  checkBroken(broken([](Tables& t) { t.nodes[3].derivedFrom = NodeId(40); }), "MysteryGrad-op1",
              "does not precede");
  checkBroken(broken([](Tables& t) { t.nodes[4].derivedFrom = NodeId(3); }), "MysteryUpdate-op1",
              "not a forward node");
}

TEST_CASE("verify finds nodes that no kernel or two kernels compute") {
  checkBroken(broken([](Tables& t) { t.kernels[1].nodes.pop_back(); }), "network/Mystery-op1",
              "by 0 kernels");
  checkBroken(broken([](Tables& t) { t.kernels[2].nodes.push_back(NodeId(0)); }), "Relu-op1", "by 2 kernels");
  checkBroken(broken([](Tables& t) { t.kernels[2].nodes.push_back(NodeId(70)); }), "kernel opaque",
              "does not exist");
}

TEST_CASE("verify infers what known operators give") {
  checkBroken(brokenOperator([](Tables& t) {
                t.tensors[1].shape = Shape{2, 4};
              }),
              "Relu-op1", "has output 0 float32 [2, 4], but its inputs give float32 [2, 3]");
  checkBroken(brokenOperator([](Tables& t) { t.tensors[1].dtype = DType::Float64; }), "Relu-op1", "float64");
  checkBroken(brokenOperator([](Tables& t) { t.nodes[0].inputs.push_back(TensorId(0)); }), "Relu-op1",
              "has 2 inputs");
  checkBroken(brokenOperator([](Tables& t) { t.nodes[0].inputs.clear(); }), "Relu-op1", "has 0 inputs");
  checkBroken(
      brokenOperator([](Tables& t) { t.nodes[1].attributes["shape"] = std::vector<std::int64_t>{5}; }),
      "Reshape-op1", "is not valid: Reshape");
}

TEST_CASE("verify checks the attributes of known operators") {
  checkBroken(brokenOperator([](Tables& t) { t.nodes[1].attributes["shape"] = std::int64_t{6}; }),
              "Reshape-op1", "shape=6 of type int, not ints");
  checkBroken(brokenOperator([](Tables& t) { t.nodes[1].attributes.clear(); }), "Reshape-op1",
              "lacks the attribute shape");
}

TEST_CASE("verify counts the outputs of known operators") {
  Tables tables(knownOperators());
  TensorInfo extra = tables.tensors[1];
  extra.id = TensorId(3);
  extra.slot = 1;
  tables.nodes[0].outputs.push_back(extra.id);
  tables.tensors.push_back(extra);
  checkBroken(verify(tables.graph()).error().message(), "Relu-op1", "has 2 outputs, not 1");
}

TEST_CASE("verify leaves out inference where a dimension is unknown") {
  Tables tables(knownOperators());
  for (TensorInfo& info : tables.tensors) info.shape = Shape{-1, 3};
  CHECK(verify(tables.graph()).ok());
}
