// Operators of other frameworks, read in terms of ours.
#include "watchpoints/meaning/meaning.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "core_engine/graph/verify.h"
#include "core_engine/ops/op.h"
#include "tests/watchpoints/fake_source.h"
#include "watchpoints/blame/blame.h"
#include "watchpoints/check.h"
#include "watchpoints/meaning/translated_source.h"

namespace msdbg::test {

using namespace core;
using watch::Meaning;

namespace {

TensorInfo floats(TensorRole role, std::string name = "", Shape shape = {4}) {
  TensorInfo info;
  info.name = std::move(name);
  info.shape = std::move(shape);
  info.role = role;
  return info;
}

// a / b, then the loss of it, as a recorder of `domain` would have them.
Graph quotient(const std::string& domain, const std::string& type, const std::string& mean) {
  Graph graph("net");
  const TensorId a = graph.addSource(floats(TensorRole::kInput, "net/a")),
                 b = graph.addSource(floats(TensorRole::kInput, "net/b"));
  const NodeId node = graph.addNode(type, "net", Phase::kForward, {a, b}, {},
                                    {floats(TensorRole::kActivation)}, {}, {}, domain);
  graph.addNode(mean, "net", Phase::kForward, {graph.node(node).outputs[0]}, {},
                {floats(TensorRole::kLoss, "", {})}, {}, {}, domain);
  return graph;
}

void record(FakeSource& source, const std::string& name, std::vector<float> values) {
  const TensorId id = source.id(name);
  source.record(Rank(0), Iteration(0), id,
                Tensor::of<float>(source.graph().tensor(id).shape, std::span<const float>(values)));
}

FakeSource zeroDivided(const std::string& domain, const std::string& type, const std::string& mean) {
  FakeSource source(quotient(domain, type, mean), 1, 1);
  record(source, "net/a", {1, 2, 0, 4});
  record(source, "net/b", {1, 2, 0, 4});
  record(source, "net/" + type + "-op1", {1, 1, NAN, 1});
  record(source, "net/" + mean + "-op1", {NAN});
  return source;
}

std::string blamed(FakeSource& source, const std::string& node) {
  const watch::TranslatedSource read(source);
  const Graph& graph = (*read).graph();
  const Node& wrong = graph.node(graph.findNode(node).value());
  const auto blame =
      watch::blameInput(*read, Rank(0), Iteration(0), wrong, wrong.outputs[0], watch::Wrong::kNonFinite);
  return blame ? graph.tensor(blame->tensor).name + ": " + blame->sentence() : "";
}

}  // namespace

TEST_CASE("Every row of a domain means an operator that we have, with as many inputs") {
  for (const watch::DomainMeanings& domain :
       {watch::atenMeanings(), watch::c10dMeanings(), watch::mindsporeMeanings()}) {
    std::set<std::string_view> types;
    for (const Meaning& meaning : domain.meanings()) {
      CAPTURE(domain.domain, meaning.type);
      CHECK(types.insert(meaning.type).second);
      const OpDef* op = findOp(meaning.op);
      REQUIRE(op);
      CHECK(meaning.operands.size() <= op->maxInputs);
      CHECK((meaning.operands.empty() || meaning.operands.size() >= op->minInputs));
      for (const auto& [theirs, ours] : meaning.attributes)
        CHECK(std::ranges::count(op->attributes, ours, &AttributeDoc::name) == 1);
    }
  }
}

TEST_CASE("A zero divisor is blamed whoever divided by it") {
  FakeSource ours = zeroDivided("msdbg", "Div", "ReduceMean"),
             aten = zeroDivided("aten", "div.Tensor", "mean"),
             inPlace = zeroDivided("aten", "div_.Tensor", "mean"),
             mindspore = zeroDivided("mindspore", "RealDiv", "ReduceMean");
  const std::string expected = blamed(ours, "net/Div-op1");
  CHECK_THAT(expected, Catch::StartsWith("net/b: ") && Catch::Contains("0/0"));
  CHECK(blamed(aten, "net/div.Tensor-op1") == expected);
  CHECK(blamed(inPlace, "net/div_.Tensor-op1") == expected);
  CHECK(blamed(mindspore, "net/RealDiv-op1") == expected);
}

TEST_CASE("An operator of others that has a name of ours is not judged as ours") {
  FakeSource foreign = zeroDivided("acme", "Div", "ReduceMean");
  CHECK(blamed(foreign, "net/Div-op1").find("0/0") == std::string::npos);
  const Graph read = watch::inOurTerms(foreign.graph());
  CHECK(read.nodes()[0].opType == "acme.Div");
  CHECK(findOp(foreign.graph().nodes()[0]) == nullptr);

  Graph relu("net");
  const TensorId x = relu.addSource(floats(TensorRole::kInput, "net/x"));
  relu.addNode("Relu", "net", Phase::kForward, {x, x, x}, {{"axis", std::string("left")}},
               {floats(TensorRole::kActivation, "", {7})}, {}, {}, "acme");
  CHECK(verify(relu).ok());  // three inputs, another shape: its own affair
}

TEST_CASE("The first NaN of a foreign graph is found at its operator") {
  FakeSource source = zeroDivided("aten", "div.Tensor", "mean");
  const watch::CheckReport report = watch::check(source, watch::recommendedSet(), {});
  REQUIRE(report.first);
  CHECK(source.graph().node(report.first->node).name == "net/div.Tensor-op1");
}

TEST_CASE("Operands and attributes are put in our order, by our names") {
  Graph graph("net");
  const TensorId bias = graph.addSource(floats(TensorRole::kParameter, "net/bias", {2})),
                 x = graph.addSource(floats(TensorRole::kInput, "net/x", {4, 3})),
                 weight = graph.addSource(floats(TensorRole::kParameter, "net/weight", {3, 2}));
  const auto add = [&](const char* type, std::vector<TensorId> inputs, const Attributes& attributes) {
    graph.addNode(type, "net", Phase::kForward, std::move(inputs), attributes,
                  {floats(TensorRole::kActivation, "", {4, 2})}, {}, {}, "aten");
  };
  add("addmm", {bias, x, weight}, {{"alpha", std::int64_t{1}}});
  add("addmm", {bias, x, weight}, {{"beta", 0.5}});
  add("_softmax", {x}, {{"dim", std::int64_t{-1}}, {"half_to_float", false}});
  add("mean.dim", {x}, {{"dim", std::vector<std::int64_t>{1}}, {"keepdim", false}});
  add("frobnicate", {x}, {{"axis", std::vector<double>{1}}});
  const Graph read = watch::inOurTerms(graph);
  CHECK(read.nodes()[0].opType == "Gemm");
  CHECK(read.nodes()[0].inputs == std::vector{x, weight, bias});
  CHECK(read.nodes()[0].attributes.empty());
  CHECK(read.nodes()[1].opType == "aten.addmm");
  CHECK(read.nodes()[2].opType == "Softmax");
  CHECK(read.nodes()[2].attributes == Attributes{{"axis", std::int64_t{-1}}});
  CHECK(read.nodes()[3].opType == "ReduceMean");
  CHECK(read.nodes()[3].attributes ==
        Attributes{{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{0}}});
  CHECK(read.nodes()[4].opType == "aten.frobnicate");
  CHECK(read.nodes()[4].attributes.empty());
}

}  // namespace msdbg::test
