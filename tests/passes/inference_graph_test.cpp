#include "core_engine/passes/inference_graph.h"

#include <catch2/catch.hpp>

#include "core_engine/graph/verify.h"
#include "core_engine/models/model.h"
#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;

TEST_CASE("The inference graph of every model has no Dropout, no training mode and the sources' names") {
  for (const ModelInfo& model : builtinModels()) {
    CAPTURE(model.name);
    Graph built("network");
    const Value loss = model.build(built, {.batch = 2, .dropout = model.hasDropout ? 0.5 : 0});
    const InferenceGraph inference = inferenceGraph(built, loss.id()).orThrow();
    CHECK(verify(inference.graph).ok());
    CHECK(inference.graph.tensor(inference.wanted.at(0)).role == TensorRole::kLoss);
    std::size_t dropouts = 0;
    for (const Node& node : built.nodes()) dropouts += node.opType == "Dropout";
    CHECK(dropouts == (model.hasDropout ? 2 : 0));
    CHECK(inference.graph.nodes().size() == built.nodes().size() - dropouts);
    for (const Node& node : inference.graph.nodes()) {
      CHECK(node.opType != "Dropout");
      CHECK_FALSE(node.frames.empty());
      if (node.opType != "BatchNormalization") continue;
      CHECK(std::get<std::int64_t>(node.attributes.at("training_mode")) == 0);
      CHECK(node.outputs.size() == 1);
    }
    for (const TensorInfo& info : built.tensors())
      if (info.isSource()) CHECK(inference.graph.findTensor(info.fullName()));
  }
}

TEST_CASE("What the loss does not need is not evaluated, what is there in training only is refused") {
  Graph g;
  const Value x = g.input("x", {4, 3});
  const Value y = linear(x, {.out = 2});
  exp(y);  // looked at by nobody
  const InferenceGraph inference = inferenceGraph(g, reduceMean(y, {}, false).id()).orThrow();
  CHECK(inference.graph.nodes().size() == 2);
  const std::vector<Value> dropped = applyOp("Dropout", std::vector{y}, {{"ratio", 0.5}}, Where::current());
  const Value kept = cast(dropped[1], DType::Float32);
  const auto refused = inferenceGraph(g, reduceMean(kept, {}, false).id());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kUnsupported);
  CHECK_THAT(refused.error().message(),
             Contains("Dropout-op1:1") && Contains("inference_graph_test.cpp") && Contains("training only"));
}
