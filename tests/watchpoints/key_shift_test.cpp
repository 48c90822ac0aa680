// What a bias of keys adds is taken out by the softmax over them; what one of queries or values adds is not.
#include "watchpoints/conditions/key_shift.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/train/layers.h"

namespace msdbg::test {

using namespace core;

namespace {

constexpr std::int64_t kBatch = 4, kTokens = 6, kWidth = 8, kHeads = 2;

struct Attention {
  Graph graph{"net"};
  bool masked = false, heads = false, overQueries = false, readsKeys = false;

  Value project(const Value& x, const char* name) {
    const auto scope = graph.scope(name);
    const Value y = linear(reshape(x, {kBatch * kTokens, kWidth}), {.out = kWidth});
    if (!heads) return reshape(y, {kBatch, kTokens, kWidth});
    return transpose(reshape(y, {kBatch, kTokens, kHeads, kWidth / kHeads}), {0, 2, 1, 3});
  }

  void build() {
    const Value x = graph.input("x", {kBatch, kTokens, kWidth});
    const Value q = project(x, "q"), k = project(x, "k"), v = project(x, "v");
    const Value turned = heads ? transpose(k, {0, 1, 3, 2}) : transpose(k, {0, 2, 1});
    Value scores = matmul(q, turned) * (1 / std::sqrt(static_cast<double>(kWidth)));
    if (masked) scores = scores + graph.input("mask", {kTokens, kTokens});
    Value out = matmul(softmax(scores, overQueries ? -2 : -1), v);
    if (readsKeys) out = out + k;
    reduceMean(out * out);
  }

  bool isShift(const std::string& layer) const {
    for (const TensorInfo& info : graph.tensors())
      if (info.role == TensorRole::kParameter && info.name == "net/" + layer + "/bias")
        return watch::isShiftOfKeys(graph, info.id);
    FAIL("no bias of " + layer);
    return false;
  }
};

}  // namespace

TEST_CASE("the bias of keys, and no other, shifts all scores of a query by the same") {
  const bool masked = GENERATE(false, true), heads = GENERATE(false, true);
  Attention attention{.masked = masked, .heads = heads};
  attention.build();
  CHECK(attention.isShift("k"));
  CHECK_FALSE(attention.isShift("q"));
  CHECK_FALSE(attention.isShift("v"));
}

TEST_CASE("the bias of keys counts where the softmax is over queries, or the keys are read elsewhere") {
  Attention queries{.overQueries = true};
  queries.build();
  CHECK_FALSE(queries.isShift("k"));
  CHECK(queries.isShift("k") == queries.isShift("v"));
  Attention read{.readsKeys = true};
  read.build();
  CHECK_FALSE(read.isShift("k"));
}

}  // namespace msdbg::test
