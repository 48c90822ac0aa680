// Initial values: what an Init means for a shape, what is drawn from it, and parameters of one's own.
#include "core_engine/graph/init.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/layers.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;

namespace {

using Kind = Initializer::Kind;

/// A large parameter's first values.
Tensor drawn(const Init& init, std::uint64_t seed = 1, const Shape& shape = {200, 300}) {
  Graph g("net", DType::Float64);
  const Value p = g.parameter("p", shape, init), used = p * 2;
  ExecutorOptions options;
  options.seed = seed;
  const auto executor = Executor::create(g, options).orThrow();
  (void)used;
  return executor->value(p.id()).clone();
}

struct Moments {
  double mean = 0, deviation = 0, least = 0, most = 0;
};

Moments momentsOf(const Tensor& t) {
  Moments m{0, 0, t.at(0), t.at(0)};
  const auto n = static_cast<double>(t.elements());
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    m.mean += t.at(i) / n;
    m.least = std::min(m.least, t.at(i));
    m.most = std::max(m.most, t.at(i));
  }
  for (std::int64_t i = 0; i < t.elements(); ++i) m.deviation += (t.at(i) - m.mean) * (t.at(i) - m.mean) / n;
  m.deviation = std::sqrt(m.deviation);
  return m;
}

template <typename Build>
std::string buildError(Build build) {
  try {
    build();
  } catch (const BuildError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("Fans are those of a weight [out, in, kernel, kernel]") {
  CHECK(Init::kaimingNormal().forShape({64, 3, 3, 3}).value() == Initializer{Kind::kKaimingNormal, 27});
  const double end = std::sqrt(6.0 / (27 + 64 * 9));
  const Initializer uniform = Init::xavierUniform().forShape({64, 3, 3, 3}).value();
  CHECK(uniform.kind == Kind::kUniform);
  CHECK(uniform.value == Approx(-end));
  CHECK(uniform.high == Approx(end));
  CHECK(Init::xavierUniform(2).forShape({10, 20}).value().high == Approx(2 * std::sqrt(6.0 / 30)));
}

TEST_CASE("Drawn values have the mean, deviation and range that were asked for") {
  const double xavier = std::sqrt(2.0 / 500);
  for (const auto& [init, deviation] :
       {std::pair(Init::normal(0.3), 0.3), std::pair(Init::xavierNormal(), xavier),
        std::pair(Init::xavierNormal(3), 3 * xavier), std::pair(Init::kaimingNormal(), std::sqrt(2.0 / 300)),
        std::pair(Init::xavierUniform(), xavier), std::pair(Init::uniform(-1, 1), 1 / std::sqrt(3.0)),
        std::pair(Init::truncatedNormal(0.5), 0.5 * 0.87962566)}) {
    const Moments m = momentsOf(drawn(init));
    CAPTURE(deviation);
    CHECK(m.deviation == Approx(deviation).epsilon(0.01));
    CHECK(std::abs(m.mean) < 0.02 * deviation);
  }
  const Moments even = momentsOf(drawn(Init::uniform(2, 5))),
                cut = momentsOf(drawn(Init::truncatedNormal(0.5)));
  CHECK(even.least >= 2);
  CHECK(even.most < 5);
  CHECK(even.mean == Approx(3.5).epsilon(0.01));
  CHECK(cut.least >= -1);
  CHECK(cut.most <= 1);
  CHECK(cut.most > 0.99);
}

TEST_CASE("What is drawn depends on seed and name alone") {
  for (const Init& init : {Init::uniform(-1, 1), Init::truncatedNormal(), Init::xavierNormal()}) {
    CHECK(hashTensor(drawn(init, 3)) == hashTensor(drawn(init, 3)));
    CHECK(hashTensor(drawn(init, 3)) != hashTensor(drawn(init, 4)));
  }
  CHECK(momentsOf(drawn(Init::constant(0.25))).least == 0.25);
  CHECK(momentsOf(drawn(Init::zeros())).most == 0);
}

TEST_CASE("Layers take initial values as options, and say so in the graph") {
  Graph g;
  const auto initializer = [&](const char* name) { return g.tensor(g.findTensor(name).value()).initializer; };
  const Value x = g.input("x", {2, 3, 8, 8}), ids = g.input("ids", {2}, DType::Int64);
  {
    const Scope scope = g.scope("conv");
    conv(x, {.out = 4, .init = Init::xavierUniform(), .biasInit = Init::constant(0.1)});
  }
  {
    const Scope scope = g.scope("linear");
    linear(flatten(x), {.out = 4, .init = Init::truncatedNormal(0.02), .biasInit = Init::ones()});
  }
  const Scope scope = g.scope("embedding");
  embedding(ids, {.count = 10, .width = 4, .init = Init::uniform(-0.1, 0.1)});
  CHECK(initializer("network/conv/weight") == Init::xavierUniform().forShape({4, 3, 3, 3}).value());
  CHECK(initializer("network/conv/bias") == Initializer{Kind::kConstant, 0.1});
  CHECK(initializer("network/linear/weight") == Initializer{Kind::kTruncatedNormal, 0.02});
  CHECK(initializer("network/linear/bias") == Initializer{Kind::kConstant, 1});
  CHECK(initializer("network/embedding/weight") == Initializer{Kind::kUniform, -0.1, 0.1});
}

TEST_CASE("A parameter of one's own is in the open scope, trainable, on its line") {
  Graph g("net", DType::Float64);
  const Scope scope = g.scope("gate");
  const Value alpha = g.parameter("alpha", {3}, Init::zeros());
  const int line = __LINE__ - 1;
  CHECK(alpha.info().name == "net/gate/alpha");
  CHECK(alpha.dtype() == DType::Float64);
  CHECK(alpha.info().trainable);
  CHECK(alpha.info().role == TensorRole::kParameter);
  CHECK(g.userFrame(alpha.info().frames)->line == line);
  CHECK(g.parameter("narrow", {3}, Init::ones(), DType::Float32).dtype() == DType::Float32);
}

TEST_CASE("Impossible initial values are refused on the line that asks for them") {
  Graph g;
  const Value x = g.input("x", {2, 3});
  const int line = __LINE__ + 1;
  const std::string fans = buildError([&] { g.parameter("alpha", {3}, Init::xavierUniform()); });
  CHECK_THAT(fans, Contains("parameter alpha") && Contains("fan-in") && Contains("[3]") &&
                       Contains("init_test.cpp:" + std::to_string(line)));
  CHECK_THAT(buildError([&] { g.parameter("a", {2}, Init::uniform(1, 1)); }), Contains("from 1 to 1"));
  CHECK_THAT(buildError([&] { g.parameter("a", {2}, Init::normal(-1)); }),
             Contains("gain of -1") && Contains("positive"));
  CHECK_THAT(buildError([&] { g.parameter("a", {2}, Init::constant(NAN)); }), Contains("not finite"));
  CHECK_THAT(buildError([&] { g.parameter("a", {2}, Init::zeros(), DType::Int64); }), Contains("int64"));
  CHECK_THAT(buildError([&] { g.parameter("a", {0}, Init::zeros()); }), Contains("positive"));
  CHECK_THAT(buildError([&] { linear(x, {.out = 2, .init = Init::normal(0)}); }),
             Contains("weight") && Contains("init_test.cpp"));
  CHECK_THAT(buildError([&] { linear(x, {.out = 2, .deviation = 1, .init = Init::ones()}); }),
             Contains(".init and .deviation"));
}
