#include "core_engine/passes/input_shapes.h"

#include <catch2/catch.hpp>

#include "core_engine/graph/graph_text.h"
#include "core_engine/graph/verify.h"
#include "core_engine/models/model.h"

using namespace msdbg::core;

TEST_CASE("Every model for other input shapes is the model built for them") {
  for (const ModelInfo& model : builtinModels()) {
    CAPTURE(model.name);
    Graph four("network"), two("network");
    model.build(four, {.batch = 4});
    model.build(two, {.batch = 2});
    std::vector<InputShape> shapes;
    for (const TensorInfo& info : four.tensors())
      if (info.role == TensorRole::kInput || info.role == TensorRole::kLabel)
        shapes.emplace_back(info.id, two.tensor(info.id).shape);
    REQUIRE(shapes.size() == 2);
    const Graph changed = withInputShapes(four, shapes).orThrow();
    CHECK(verify(changed).ok());
    for (std::size_t i = 0; i < two.tensors().size(); ++i) {
      CHECK(changed.tensors()[i].fullName() == two.tensors()[i].fullName());
      CHECK(changed.tensors()[i].shape == two.tensors()[i].shape);
    }
  }
}
