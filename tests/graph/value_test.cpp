#include "core_engine/graph/value.h"

#include <catch2/catch.hpp>

#include "core_engine/graph/verify.h"
#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;

namespace {

constexpr const char* kFile = "tests/graph/value_test.cpp";

const Node& nodeOf(const Value& v) { return v.graph().node(v.info().producer); }

std::vector<std::int32_t> linesIn(const Graph& g, const std::vector<FrameId>& frames) {
  std::vector<std::int32_t> lines;
  for (const FrameId id : frames)
    if (g.frame(id).file == kFile) lines.push_back(g.frame(id).line);
  return lines;
}

template <typename F>
std::string buildError(F&& f) {
  try {
    f();
  } catch (const BuildError& error) {
    return error.what();
  }
  return "no error";
}

std::string place(int line) { return "(" + std::string(kFile) + ":" + std::to_string(line) + ")"; }

}  // namespace

TEST_CASE("Scopes name what is built in them and leave no trace when they end") {
  Graph g("mynet");
  const Value x = g.input("x", {2, 3});
  CHECK(x.info().name == "mynet/x");
  {
    auto outer = g.scope("block");
    auto inner = g.scope("conv1");
    CHECK(g.scopePath() == "mynet/block/conv1");
    CHECK(nodeOf(relu(x)).name == "mynet/block/conv1/Relu-op1");
    CHECK(g.input("y", {1}).info().name == "mynet/block/conv1/y");
  }
  CHECK(g.scopePath() == "mynet");
  CHECK(nodeOf(relu(x)).name == "mynet/Relu-op1");
  CHECK(g.openFrames.empty());
}

TEST_CASE("A node's frames are its call, then the open scopes, outermost last") {
  Graph g;
  const Value x = g.input("x", {2, 3});
  auto outer = g.scope("a");
  const int outerLine = __LINE__ - 1;
  auto inner = g.scope("b");
  const int innerLine = __LINE__ - 1;
  const Value y = relu(x);
  const int line = __LINE__ - 1;
  CHECK(linesIn(g, nodeOf(y).frames) == std::vector<std::int32_t>{line, innerLine, outerLine});
  CHECK(linesIn(g, x.info().frames) == std::vector<std::int32_t>{outerLine - 1});
}

TEST_CASE("A layer's own line is innermost and marked; hits show the caller's") {
  Graph g;
  auto scope = g.scope("fc");
  const Value y = linear(g.input("x", {2, 3}), {.out = 4});
  const int line = __LINE__ - 1;
  const Node& gemm = nodeOf(y);
  REQUIRE(gemm.frames.size() == 3);
  CHECK(g.frame(gemm.frames[0]).file == "core_engine/train/layers.cpp");
  CHECK(g.frame(gemm.frames[0]).engine);
  CHECK(g.frame(gemm.frames[0]).function == "linear");
  CHECK(g.userFrame(gemm.frames)->line == line);
  CHECK_FALSE(g.userFrame(gemm.frames)->engine);
  CHECK(g.userFrame(g.tensor(*g.findTensor("network/fc/weight")).frames)->line == line);
}

TEST_CASE("Overloaded operators carry their line, also with a number on either side") {
  Graph g;
  const Value x = g.input("x", {2});
  const Value sum = x + x;
  const int first = __LINE__ - 1;
  const Value scaled = 2.0 * x;
  const int second = __LINE__ - 1;
  CHECK(linesIn(g, nodeOf(sum).frames) == std::vector<std::int32_t>{first});
  CHECK(linesIn(g, nodeOf(scaled).frames) == std::vector<std::int32_t>{second});
}

TEST_CASE("A loop makes several nodes of one line") {
  Graph g;
  Value x = g.input("x", {2});
  std::vector<std::vector<FrameId>> frames;
  for (int i = 0; i < 3; ++i) {
    x = relu(x);
    frames.push_back(nodeOf(x).frames);
  }
  CHECK(nodeOf(x).name == "network/Relu-op3");
  CHECK(frames[0] == frames[2]);
}

TEST_CASE(
    "Inputs have the graph's floating dtype unless they say otherwise, and labels are integers named so") {
  Graph g("network", DType::Float64);
  CHECK(g.input("x", {2}).dtype() == DType::Float64);
  CHECK(g.input("x32", {2}, DType::Float32).dtype() == DType::Float32);
  CHECK(g.input("label", {2}, DType::Int64).info().role == TensorRole::kLabel);
  CHECK(g.input("true_labels", {2}, DType::Int32).info().role == TensorRole::kLabel);
  CHECK(g.input("tokens", {2}, DType::Int64).info().role == TensorRole::kInput);
  CHECK(g.input("soft_label", {2}).info().role == TensorRole::kInput);
}

TEST_CASE("Roles and replication follow from what a node reads") {
  Graph g;
  const Value x = g.input("x", {4, 3}), label = g.input("label", {4}, DType::Int64);
  const Value w =
      parameter(g, "w", {3}, DType::Float32, {Initializer::Kind::kZeros, 0}, std::source_location::current());
  CHECK(w.info().trainable);
  CHECK(w.info().replicated);
  const Value scaled = w * 2.0;
  CHECK(scaled.info().role == TensorRole::kActivation);
  CHECK(scaled.info().replicated);
  CHECK_FALSE((x + scaled).info().replicated);
  CHECK_FALSE(dropout(w, 0.5).info().replicated);
  CHECK(softmaxCrossEntropy(x, label).info().role == TensorRole::kLoss);
  const TensorInfo& number = g.tensor(nodeOf(scaled).inputs[1]);
  CHECK(number.name == "network/const");
  CHECK(number.role == TensorRole::kConstant);
  CHECK(number.replicated);
  CHECK(number.initializer == Initializer{Initializer::Kind::kConstant, 2.0});
  CHECK(verify(g).ok());
}

TEST_CASE("A mistake in a model is an exception that names the line") {
  Graph g, other;
  const Value x = g.input("x", {2, 3}), y = g.input("y", {2, 4}), foreign = other.input("z", {2, 3});
  std::string message = buildError([&] { x + y; });
  int line = __LINE__ - 1;
  CHECK(message.find("Add") != std::string::npos);
  CHECK(message.find(place(line)) != std::string::npos);
  message = buildError([&] { x + foreign; });
  line = __LINE__ - 1;
  CHECK(message == "Add: input 1 belongs to another graph " + place(line));
  message = buildError([&] { relu(Value()); });
  line = __LINE__ - 1;
  CHECK(message.find(place(line)) != std::string::npos);
  message = buildError([&] { applyOp("Relux", std::vector<Value>{x}, {}, std::source_location::current()); });
  CHECK(message.find("unknown operator 'Relux'; did you mean Relu") == 0);
  message = buildError([&] { applyOp("Add", std::vector<Value>{x}, {}, std::source_location::current()); });
  CHECK(message.find("Add: 1 inputs, but it takes 2 to 2") == 0);
  CHECK(g.nodes().empty());
}

TEST_CASE("A mistake inside a layer names the caller's line") {
  Graph g;
  const Value x = g.input("x", {2, 3, 4, 4});
  const std::string message = buildError([&] { conv(x, {.out = 4, .kernel = 9}); });
  const int line = __LINE__ - 1;
  CHECK(message.find(place(line)) != std::string::npos);
  CHECK(g.openFrames.empty());  // the layer's frame went with the exception
}

TEST_CASE("Names that mean something else in a file or a pattern are refused") {
  Graph g;
  for (const char* name :
       {"", "a:b", "a*", "a b", "a//b", "/a", "a/", "..", "a/./b", "grad(x)", "a[0]", "x\n"}) {
    INFO(name);
    CHECK(buildError([&] { g.input(name, {1}); }).find("is not usable") != std::string::npos);
    CHECK(buildError([&] { auto s = g.scope(name); }).find("is not usable") != std::string::npos);
  }
  CHECK(g.openFrames.empty());
  CHECK(g.input("block/x_1-a.b", {1}).info().name == "network/block/x_1-a.b");
}

TEST_CASE("An input's dimensions are positive") {
  Graph g;
  CHECK(buildError([&] { g.input("x", {2, 0}); }).find("[2, 0]") != std::string::npos);
  CHECK(buildError([&] { g.input("x", {-1, 3}); }).find("positive") != std::string::npos);
  const std::int64_t many = std::int64_t{1} << 40;
  CHECK(buildError([&] { g.input("x", {many, many}); }).find("memory") != std::string::npos);
  CHECK(g.tensors().empty());
}

TEST_CASE("A dtype that nothing is computed in is refused in one line that says what to use") {
  Graph g;
  const auto message = [](const auto& build) -> std::string {
    try {
      build();
    } catch (const BuildError& error) {
      return error.what();
    }
    return "no error";
  };
  const auto missing = [&](const std::string& what, const auto& build) -> std::string {
    const std::string said = message(build);
    for (const std::string& part :
         {std::string("float8_e5m2 is a dtype that msdbg records and shows, but does not compute"),
          std::string("use float32"), std::string("value_test.cpp"), what})
      if (said.find(part) == std::string::npos) return "not '" + part + "' but: " + said;
    return "";
  };
  CHECK(missing("x: ", [&] { g.input("x", {2}, DType::Float8E5M2); }) == "");
  CHECK(missing("w: ", [&] { g.parameter("w", {2, 2}, Init::xavierNormal(), DType::Float8E5M2); }) == "");
  CHECK(missing("const: ", [&] { constant(g, 1, {2}, DType::Float8E5M2); }) == "");
  const Value y = g.input("y", {2});
  CHECK(missing("Cast: ", [&] { cast(y, DType::Float8E5M2); }) == "");
  CHECK_THAT(message([] { Graph("net", DType::BFloat16); }),
             Catch::Contains("float32 or float64 is needed, not bfloat16"));
  CHECK(g.nodes().empty());
}

TEST_CASE("A second input of a name is refused with the lines of both") {
  Graph g;
  const Value first = g.input("x", {1});
  const int line = __LINE__ - 1;
  const std::string message = buildError([&] { g.input("x", {2}); });
  CHECK(message.find("there is a 'x' already") != std::string::npos);
  CHECK(message.find(place(line)) != std::string::npos);
  CHECK(message.find(place(line + 2)) != std::string::npos);
  CHECK(g.tensors().size() == 1);
  const Scope other = g.scope("decoder");
  CHECK(g.input("x", {1}).info().name == "network/decoder/x");
  CHECK(first.valid());
}

TEST_CASE("A graph's name keeps to the rule of scopes, and has one part only") {
  for (const char* name : {"my net", "a/b", "", "net*", ".."}) {
    INFO(name);
    const int line = __LINE__ + 1;
    const std::string what = buildError([&] { Graph g(name); });
    CHECK_THAT(what, Contains("graph name '" + std::string(name) + "'") && Contains(place(line)));
  }
  CHECK(Graph("my-net_1").name() == "my-net_1");
  CHECK(Graph::fromTables("a run's own/name", DType::Float32, 0, {}, {}, {}, {}).name() ==
        "a run's own/name");
}

TEST_CASE("A constant takes the graph's type and no shape unless told") {
  Graph g("net", DType::Float64);
  const Value one = constant(g, 1), ids = constant(g, 3, {2}, DType::Int64);
  CHECK(one.dtype() == DType::Float64);
  CHECK(one.shape() == Shape{});
  CHECK(linesIn(g, one.info().frames) == std::vector<std::int32_t>{__LINE__ - 3});
  CHECK(ids.dtype() == DType::Int64);
  CHECK(ids.shape() == Shape{2});
  CHECK_THAT(buildError([&] { constant(g, 1, {2, -1}); }), Contains("dimensions are positive"));
}

TEST_CASE("An output that no memory holds is refused where it is made") {
  Graph g;
  const Value a = g.input("a", {1 << 24, 1}), b = g.input("b", {1, 1 << 24});
  const int line = __LINE__ + 1;
  const std::string what = buildError([&] { matmul(a, b); });
  CHECK_THAT(what, Contains("MatMul") && Contains("[16777216, 16777216]") && Contains(place(line)));
}
