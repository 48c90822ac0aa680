// Conditions and what they blame in the dtypes that nothing of ours is computed in.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/watchpoints/blamed.h"
#include "tests/watchpoints/healthy_source.h"
#include "watchpoints/check.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using namespace msdbg::test;
using Catch::Matchers::Contains;

namespace {

/// x -> OP -> y, of one dtype, recorded by something else.
struct Unary {
  FakeSource source;
  TensorId x{0}, y{1};

  Unary(const char* op, DType dtype, const std::vector<double>& input, const std::vector<double>& output)
      : source(graphOf(op, dtype, static_cast<std::int64_t>(input.size())), 1, 1) {
    const auto record = [&](TensorId id, const std::vector<double>& values) {
      const Tensor tensor =
          Tensor::of<double>({static_cast<std::int64_t>(values.size())}, values).cast(dtype);
      source.record(Rank(0), Iteration(0), id, tensor);
    };
    record(x, input);
    record(y, output);
  }

  static Graph graphOf(const char* op, DType dtype, std::int64_t size) {
    Graph g("foreign");
    TensorInfo info;
    info.dtype = dtype;
    info.shape = {size};
    TensorInfo input = info;
    input.name = "foreign/x";
    input.role = TensorRole::kInput;
    const TensorId id = g.addSource(std::move(input));
    g.addNode(op, "foreign", Phase::kForward, {id}, {}, {info}, {});
    return g;
  }
};

FakeSource retyped(DType dtype, int ranks) {
  Graph g = modelGraph();
  for (std::size_t i = 0; i < g.tensors().size(); ++i)
    g.tensor(TensorId(static_cast<std::int64_t>(i))).dtype = dtype;
  FakeSource source(std::move(g), ranks, 2);
  for (int rank = 0; rank < ranks; ++rank)
    for (int k = 0; k < 2; ++k)
      for (const TensorInfo& info : source.graph().tensors()) {
        std::vector<double> values(static_cast<std::size_t>(info.shape.elements()));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = 1 + 0.25 * static_cast<double>(i + static_cast<std::size_t>(k + info.id.value)) / 8;
        source.record(Rank(rank), Iteration(k), info.id, Tensor::of<double>(info.shape, values).cast(dtype));
      }
  return source;
}

}  // namespace

TEST_CASE("An overflow and an underflow are explained by the limits of the dtype") {
  Unary over("Exp", DType::Float16, {1, 12}, {std::exp(1.0), INFINITY});
  CHECK(blame::blamed(over.source, over.y, Wrong::kNonFinite) ==
        "input 0 (foreign/x) reaches 12 at [1]: exp overflows float16 above 11.0899");
  Unary none("Exp", DType::BFloat16, {1, 12}, {std::exp(1.0), INFINITY});
  CHECK(blame::blamed(none.source, none.y, Wrong::kNonFinite) == "");  // bfloat16 reaches as far as float32
  Unary cast("Cast", DType::Float16, {1e-5, 1e-6}, {0, 0});
  CHECK(blame::blamed(cast.source, cast.y, Wrong::kAllZero) ==
        "");  // float16 holds 1e-5 as a subnormal number
  Unary under("Exp", DType::Float16, {-10, -20}, {0, 0});
  CHECK_THAT(blame::blamed(under.source, under.y, Wrong::kAllZero),
             Contains("exp is 0 in float16 below -9.70406"));
}

TEST_CASE("A value that is cast to a dtype that cannot hold it is blamed on that dtype") {
  Unary cast("Cast", DType::Float16, {1, 2}, {1, INFINITY});
  const Tensor wide = Tensor::of<double>({2}, std::vector<double>{1, 70'000});
  cast.source.record(Rank(0), Iteration(0), cast.x, wide);
  CHECK_THAT(blame::blamed(cast.source, cast.y, Wrong::kNonFinite),
             Contains("reaches 70000") && Contains("more than float16 can hold"));
}

TEST_CASE(
    "NaN is found where it began in every dtype that may hold one, also in one that only its statistics tell "
    "of") {
  for (const DType dtype : kDTypes) {
    if (!mayBeNonFinite(dtype)) continue;
    CAPTURE(dtypeName(dtype));
    Unary made("Log", dtype, {1, 2}, {0, NAN});
    const CheckReport report = runRecommended(made.source, "nonfinite_propagation");
    CHECK(only(report.hits).tensor == made.y);
    CHECK(only(report.hits).element == 1);
    CHECK(only(runRecommended(made.source, "tensor_overflow").hits).count == 1);
  }
  FakeSource later(Unary::graphOf("Log", DType::Unsupported, 2), 1, 1);
  later.row(0, 0, TensorId(0)).values.count = 2;
  later.row(0, 0, TensorId(1)).values.count = 2;
  later.row(0, 0, TensorId(1)).values.nan = 1;
  CHECK(only(runRecommended(later, "nonfinite_propagation").hits).tensor == TensorId(1));
}

TEST_CASE(
    "Conditions look at training in every dtype without computing in it, and a sum is judged by the dtype's "
    "step") {
  for (const DType dtype : kDTypes) {
    CAPTURE(dtypeName(dtype));
    FakeSource source = retyped(dtype, 2);
    CHECK_NOTHROW(check(source, recommendedSet(), {}));
    // What the ranks received is not the sum of what they gave: by more than rounding, but for 8 bits.
    const bool coarse = dtypeName(dtype).starts_with("float8");
    CHECK(runRecommended(source, "collective_mismatch").hits.empty() == coarse);
  }
}
