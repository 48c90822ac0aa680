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
#include "watchpoints/meaning/wording.h"

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
       {watch::atenMeanings(), watch::autogradMeanings(), watch::c10dMeanings(), watch::mindsporeMeanings(),
        watch::torchModuleMeanings()}) {
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

namespace {

Shape unaryShape(const Graph& graph, TensorId input) { return graph.tensor(input).shape; }

NodeId addAten(Graph& graph, const char* type, std::vector<TensorId> inputs, const Attributes& attributes,
               Shape shape) {
  return graph.addNode(type, "net", Phase::kForward, std::move(inputs), attributes,
                       {floats(TensorRole::kActivation, "", std::move(shape))}, {}, {}, "aten");
}

}  // namespace

TEST_CASE("Operands and attributes are put in our order, by our names") {
  Graph graph("net");
  const TensorId bias = graph.addSource(floats(TensorRole::kParameter, "net/bias", {2})),
                 x = graph.addSource(floats(TensorRole::kInput, "net/x", {4, 3})),
                 weight = graph.addSource(floats(TensorRole::kParameter, "net/weight", {3, 2}));
  addAten(graph, "addmm", {bias, x, weight}, {{"alpha", std::int64_t{1}}}, {4, 2});
  addAten(graph, "addmm", {bias, x, weight}, {{"beta", 0.5}}, {4, 2});
  addAten(graph, "_softmax", {x}, {{"dim", std::int64_t{-1}}, {"half_to_float", false}}, {4, 3});
  addAten(graph, "mean.dim", {x}, {{"dim", std::vector<std::int64_t>{1}}, {"keepdim", true}}, {4, 1});
  addAten(graph, "amax", {x}, {{"dim", std::int64_t{0}}}, {3});
  addAten(graph, "frobnicate", {x}, {{"axis", std::vector<double>{1}}}, {4, 2});
  const Graph read = watch::inOurTerms(graph);
  CHECK(read.nodes()[0].opType == "Gemm");
  CHECK(read.nodes()[0].inputs == std::vector{x, weight, bias});
  CHECK(read.nodes()[0].attributes == Attributes{{"alpha", 1.0}});
  CHECK(read.nodes()[1].opType == "aten.addmm");
  CHECK(read.nodes()[2].opType == "Softmax");
  CHECK(read.nodes()[2].attributes == Attributes{{"axis", std::int64_t{-1}}});
  CHECK(read.nodes()[3].opType == "ReduceMean");
  CHECK(read.nodes()[3].attributes ==
        Attributes{{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{1}}});
  CHECK(read.nodes()[4].opType == "ReduceMax");
  CHECK(read.nodes()[4].attributes ==
        Attributes{{"axes", std::vector<std::int64_t>{0}}, {"keepdims", std::int64_t{0}}});
  CHECK(read.nodes()[5].opType == "aten.frobnicate");
  CHECK(read.nodes()[5].attributes == graph.nodes()[5].attributes);
}

TEST_CASE("Of a node whose views are folded the shapes decide whether it is ours") {
  Graph graph("net");
  const TensorId x = graph.addSource(floats(TensorRole::kInput, "net/x", {2, 8, 3})),
                 weight = graph.addSource(floats(TensorRole::kParameter, "net/weight", {5, 3})),
                 square = graph.addSource(floats(TensorRole::kParameter, "net/square", {3, 3})),
                 bias = graph.addSource(floats(TensorRole::kParameter, "net/bias", {5}));
  const auto typeOf = [&](NodeId node) { return watch::inOurTerms(graph).node(node).opType; };
  const auto flag = [&](NodeId node, const char* name) {
    return intAttribute(watch::inOurTerms(graph).node(node).attributes, name, 0);
  };
  // nn.Linear multiplies rows of a batch by the transpose of its weight.
  const NodeId linear = addAten(graph, "addmm", {bias, x, weight}, {}, {16, 5}),
               same = addAten(graph, "mm", {x, square}, {}, {16, 3});
  CHECK(typeOf(linear) == "Gemm");
  CHECK(flag(linear, "transB") == 1);
  CHECK(flag(same, "transB") == 1);
  // Heads of an attention, split by views.
  CHECK(typeOf(addAten(graph, "bmm", {x, x}, {}, {4, 8, 8})) == "aten.bmm");
  // A reduction over another axis than that of what is read.
  CHECK(typeOf(addAten(graph, "sum", {x}, {{"dim", std::vector<std::int64_t>{0}}}, {8, 3})) == "ReduceSum");
  CHECK(typeOf(addAten(graph, "sum", {x}, {{"dim", std::vector<std::int64_t>{0}}}, {2, 3})) == "aten.sum");
  // Rows are rows, element by element is element by element, in whatever shape.
  const NodeId rows = addAten(graph, "_log_softmax", {x}, {{"dim", std::int64_t{1}}}, {16, 3});
  CHECK(typeOf(rows) == "LogSoftmax");
  CHECK(flag(rows, "axis") == -1);
  CHECK(typeOf(addAten(graph, "relu", {x}, {}, {16, 3})) == "Relu");
  CHECK(typeOf(addAten(graph, "relu", {x}, {}, unaryShape(graph, x))) == "Relu");
  // A part of a storage that was written in place is shown as all of it.
  CHECK(typeOf(addAten(graph, "sigmoid_", {x}, {}, {48})) == "aten.sigmoid_");
}

TEST_CASE("Rules of blame take a foreign operator by what its values do") {
  FakeSource source(quotient("aten", "log2", "mean"), 1, 1);
  record(source, "net/a", {1, 2, -3, 4});
  record(source, "net/b", {1, 1, 1, 1});
  record(source, "net/log2-op1", {0, 1, NAN, 2});
  record(source, "net/mean-op1", {NAN});
  CHECK(blamed(source, "net/log2-op1") == "");  // two inputs: no logarithm that we know

  const auto unary = [](const std::string& type, Attributes attributes, std::vector<float> x,
                        std::vector<float> y) {
    Graph graph("net");
    const TensorId a = graph.addSource(floats(TensorRole::kInput, "net/a"));
    graph.addNode(type, "net", Phase::kForward, {a}, std::move(attributes), {floats(TensorRole::kActivation)},
                  {}, {}, "aten");
    FakeSource fake(std::move(graph), 1, 1);
    record(fake, "net/a", std::move(x));
    record(fake, "net/" + type + "-op1", std::move(y));
    return blamed(fake, "net/" + type + "-op1");
  };
  using Catch::Contains;
  CHECK_THAT(unary("log2", {}, {1, 2, -3, 4}, {0, 1, NAN, 2}), Contains("is negative at [2]"));
  CHECK_THAT(unary("log1p_.default", {}, {0, 0, -2, 0}, {0, 0, NAN, 0}), Contains("log1p of less than -1"));
  CHECK_THAT(unary("rsqrt", {}, {1, 1, 0, 4}, {1, 1, INFINITY, 0.5}),
             Contains("is 0 at [2]: 1/sqrt(0) gives Inf"));
  CHECK_THAT(unary("reciprocal", {}, {1, 1, 0, 4}, {1, 1, INFINITY, 0.25}), Contains("1/0 gives Inf"));
  CHECK_THAT(unary("div", {{"other", std::int64_t{0}}}, {1, 1, 0, 4}, {INFINITY, INFINITY, NAN, INFINITY}),
             Contains("divided by the number 0"));
  CHECK_THAT(unary("pow", {{"exponent", 0.5}}, {1, 1, -1, 4}, {1, 1, NAN, 2}),
             Contains("power of 0.5 gives NaN"));
  CHECK_THAT(unary("pow", {{"exponent", std::int64_t{-1}}}, {1, 1, 0, 4}, {1, 1, INFINITY, 0.25}),
             Contains("0 to the power of -1 gives Inf"));
  CHECK_THAT(unary("pow", {{"exponent", std::int64_t{2}}}, {1, 1e30F, 0, 4}, {1, INFINITY, 0, 16}),
             Contains("overflows float32"));

  // What a mask chooses has another length in each iteration, and none in one.
  Graph graph("net");
  const TensorId chosen = graph.addSource(floats(TensorRole::kInput, "net/chosen", {-1}));
  addAten(graph, "mean", {chosen}, {}, {});
  FakeSource empty(std::move(graph), 1, 1);
  empty.record(Rank(0), Iteration(0), chosen, Tensor(DType::Float32, {0}));
  record(empty, "net/mean-op1", {NAN});
  CHECK_THAT(blamed(empty, "net/mean-op1"),
             Contains("has no elements in this iteration: the mean of nothing is NaN"));
}

TEST_CASE("Findings of a PyTorch run speak of PyTorch's functions") {
  CHECK(
      watch::inTorchWords("Give each rank its share: run.shard(loader), or a loader seeded and cut by rank.")
          .find("DistributedSampler") != std::string::npos);
  CHECK(watch::isOfTorch(quotient("aten", "div", "mean")));
  CHECK_FALSE(watch::isOfTorch(quotient("mindspore", "RealDiv", "ReduceMean")));
  for (const watch::ConditionDef& condition : watch::allConditions()) {
    const std::string advice = watch::inTorchWords(condition.advice);
    CAPTURE(condition.id);
    for (const char* ours :
         {"run.shard", "loadParameters", "oneHot(", "greater(", "equal(", " relu(", "{B, T"})
      CHECK(advice.find(ours) == std::string::npos);
  }
  FakeSource source = zeroDivided("aten", "div.Tensor", "mean");
  const watch::CheckReport report = watch::check(source, watch::recommendedSet(), {});
  REQUIRE(report.first);
  // What a rule of blame explains has no general advice, which might contradict it.
  CHECK(report.first->advice ==
        "Change it as the detail says; where such an input should never come, look at what makes it.");
}

TEST_CASE(
    "Shapes that vary are asked for nothing, and a gradient of a bias without operators is judged by none") {
  const auto faults = [](Shape shape) {
    Graph graph("net");
    TensorInfo bias = floats(TensorRole::kParameter, "net/bias");
    bias.trainable = true;
    const TensorId b = graph.addSource(bias), x = graph.addSource(floats(TensorRole::kInput, "net/x"));
    const TensorId part =
        graph.node(addAten(graph, "sin", {x}, {}, shape)).outputs.front();  // of whatever size the batch has
    graph.tensor(part).role = TensorRole::kGradient;
    TensorInfo gradient = floats(TensorRole::kGradient);
    gradient.gradientOf = b;
    graph.addNode("AccumulateGrad", "grad/net", Phase::kBackward, {part}, {}, {gradient}, {}, {}, "autograd");
    FakeSource source(std::move(graph), 1, 1);
    record(source, "net/bias", {1, 2, 3, 4});
    record(source, "grad/net/AccumulateGrad-op1", {1e-12F, 1e-12F, 1e-12F, 1e-12F});
    return watch::check(source, watch::recommendedSet(), {}).hits.size();
  };
  CHECK(faults({-1}) == faults({4}));
  CHECK(faults({2, 8}) == 0);  // a module's gradient: a normalisation may follow
}

TEST_CASE("An infinity that the recorder says is meant is no fault") {
  const auto checked = [](const char* meant, float value) {
    Graph graph("net");
    const TensorId a = graph.addSource(floats(TensorRole::kInput, "net/a"));
    Attributes attributes;
    if (*meant) attributes[meant] = true;
    graph.addNode("masked_fill", "net", Phase::kForward, {a}, attributes, {floats(TensorRole::kActivation)},
                  {}, {}, "aten");
    FakeSource source(std::move(graph), 1, 1);
    record(source, "net/a", {1, 2, 3, 4});
    record(source, "net/masked_fill-op1", {1, value, 3, 4});
    return watch::check(source, watch::recommendedSet(), {}).first.has_value();
  };
  CHECK_FALSE(checked("meant_infinity", -INFINITY));
  CHECK_FALSE(checked("meant_positive_infinity", INFINITY));
  CHECK(checked("", -INFINITY));
  CHECK(checked("meant_infinity", NAN));
  CHECK(checked("meant_infinity", INFINITY));
  CHECK(checked("meant_positive_infinity", -INFINITY));
  CHECK(checked("meant_positive_infinity", NAN));
}

}  // namespace msdbg::test
