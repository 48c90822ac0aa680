// Dropout and SgdUpdate: the fast kernels promise the reference's bits.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core_engine/base/philox.h"
#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

RunState dropoutState(int threads, std::int64_t iteration, std::int64_t rank) {
  RunState state = stateWith(threads);
  state.seed = 42;
  state.iteration = Iteration(iteration);
  state.rank = Rank(rank);
  state.ranks = 4;
  return state;
}

/// PyTorch's formula with each stored value rounded once from double.
void checkUpdate(const Tensor& p, const Tensor& g, const Tensor* state, double momentum, double decay,
                 const Ran& ran) {
  const double rate = static_cast<double>(0.01f);
  for (std::int64_t i = 0; i < p.elements(); ++i) {
    double step = g.at(i) + decay * p.at(i);
    if (state) {
      const float stored = static_cast<float>(momentum * state->at(i) + step);
      REQUIRE(ran.outputs.at(1).at(i) == static_cast<double>(stored));
      step = static_cast<double>(stored);
    }
    REQUIRE(ran.outputs.at(0).at(i) == static_cast<double>(static_cast<float>(p.at(i) - rate * step)));
  }
}

}  // namespace

TEST_CASE("Dropout draws and scales bit for bit as the reference, on any rank and thread count") {
  const int threads = GENERATE(1, 2, 3);
  const std::int64_t rank = GENERATE(0, 3);
  const OneNode node{"Dropout", {numbers({64, 300}, 1)}, {{"ratio", 0.3}}};
  const RunState state = dropoutState(threads, 5, rank);
  const Ran actual = runFast(node, state), expected = runReference(node, state);
  REQUIRE(actual.kernel == "cpu:Dropout");
  CHECK(sameBits(actual.outputs.at(0), expected.outputs.at(0)));
  CHECK(sameBits(actual.outputs.at(1), expected.outputs.at(1)));
}

TEST_CASE("Dropout keeps the elements that Philox says, by their index in the global batch") {
  const Tensor x = numbers({1000}, 1);
  const Ran ran = runFast({"Dropout", {x}, {{"ratio", 0.25}}}, dropoutState(2, 7, 2));
  const RandomStream random(42, "network/Dropout-op1", 7);
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const bool keep = random.uniform(static_cast<std::uint64_t>(2000 + i)) >= 0.25;
    kept += keep;
    REQUIRE(ran.outputs.at(1).at(i) == (keep ? 1 : 0));
    REQUIRE(ran.outputs.at(0).at(i) ==
            (keep ? static_cast<double>(static_cast<float>(x.at(i) / 0.75)) : 0.0));
  }
  CHECK(std::abs(kept - 750) < 60);
}

TEST_CASE("The fast Dropout is the identity outside training") {
  RunState state = dropoutState(2, 0, 0);
  state.training = false;
  const Tensor x = numbers({50, 40}, 1);
  const Ran ran = runFast({"Dropout", {x}, {{"ratio", 0.5}}}, state);
  CHECK(sameBits(ran.outputs.at(0), x));
  for (std::int64_t i = 0; i < 2000; ++i) REQUIRE(ran.outputs.at(1).at(i) == 1);
}

TEST_CASE("DropoutGrad lets the gradient through where the mask is true") {
  const OneNode forward{"Dropout", {numbers({64, 700}, 1)}, {{"ratio", 0.4}}};
  const Tensor mask = runFast(forward, dropoutState(1, 0, 0)).outputs.at(1);
  const OneNode node{"DropoutGrad", {numbers({64, 700}, 2), mask}, {{"ratio", 0.4}}};
  CHECK(sameBits(fast(node), runReference(node, stateWith(1)).outputs.at(0)));
}

TEST_CASE("SgdUpdate computes PyTorch's formula bit for bit as the reference") {
  const double momentum = GENERATE(0.0, 0.9), decay = GENERATE(0.0, 5e-4);
  const std::int64_t count = GENERATE(1, 37, 50001);
  const Tensor p = numbers({count}, 1), g = numbers({count}, 2), v = numbers({count}, 3);
  OneNode node{"SgdUpdate", {p, g, Tensor::scalar(0.01f)}, {{"momentum", momentum}, {"weight_decay", decay}}};
  if (momentum != 0) node.inputs.push_back(v);
  const Ran actual = runFast(node), expected = runReference(node, stateWith(1));
  REQUIRE(actual.kernel == "cpu:SgdUpdate");
  for (std::size_t i = 0; i < expected.outputs.size(); ++i)
    CHECK(sameBits(actual.outputs[i], expected.outputs[i]));
  checkUpdate(p, g, momentum != 0 ? &v : nullptr, momentum, decay, actual);
}

TEST_CASE("SgdUpdate carries NaN and infinities of a gradient into the parameter") {
  Tensor g = numbers({20}, 2);
  g.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  g.data<float>()[17] = std::numeric_limits<float>::infinity();
  const Tensor next = fast({"SgdUpdate", {numbers({20}, 1), g, Tensor::scalar(0.1f)}});
  for (std::int64_t i = 0; i < 20; ++i) CHECK(std::isfinite(next.at(i)) == (i != 3 && i != 17));
}

TEST_CASE("AdamUpdate gives the reference's bits, and rounds each stored value once") {
  const int threads = GENERATE(1, 2, 3);
  const Tensor rate = Tensor::scalar<float>(0.01f), step = Tensor::scalar<std::int64_t>(6);
  Tensor square = numbers({300, 77}, 4);
  for (float& x : square.data<float>()) x = x * x;
  const OneNode node{
      "AdamUpdate",
      {numbers({300, 77}, 1), numbers({300, 77}, 2), rate, numbers({300, 77}, 3), square, step},
      {{"weight_decay", 0.01}, {"decoupled", std::int64_t{threads == 2}}}};
  const Ran actual = runFast(node, threads), expected = runReference(node, stateWith(threads));
  REQUIRE(actual.kernel == "cpu:AdamUpdate");
  for (std::size_t i = 0; i < 3; ++i) CHECK(sameBits(actual.outputs.at(i), expected.outputs.at(i)));
}

TEST_CASE("SgdUpdate with Nesterov's momentum gives the reference's bits") {
  const OneNode node{
      "SgdUpdate",
      {numbers({300, 77}, 1), numbers({300, 77}, 2), Tensor::scalar<float>(0.01f), numbers({300, 77}, 3)},
      {{"momentum", 0.9}, {"weight_decay", 0.01}, {"nesterov", std::int64_t{1}}}};
  const Ran actual = runFast(node), expected = runReference(node, stateWith(2));
  for (std::size_t i = 0; i < 2; ++i) CHECK(sameBits(actual.outputs.at(i), expected.outputs.at(i)));
}
