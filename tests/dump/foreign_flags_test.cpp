// Programs of other frameworks of which only NaN and Inf are counted.
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/tensor/flags.h"
#include "tests/dump/foreign_program.h"
#include "tests/support/environment.h"

using namespace msdbg;
using namespace msdbg::test::foreign;

TEST_CASE("Where only flags are wanted nothing else is read back, and no norm is made up") {
  const test::Environment variable("MSDBG_DUMP_OPTIONS",
                                   R"({"policy":"flags","rules":["*=stats,kind=input"]})");
  Program program;
  core::TensorInfo of = info("", {2}, TensorRole::kGradient);
  of.gradientOf = program.w;
  const NodeId node = program.node("grad/Net/AccumulateGrad-op1", "AccumulateGrad", {}, {of}, {});
  const float nan = std::nanf("");
  for (std::int64_t i = 0; i < 3; ++i) {
    REQUIRE(program.recording->begin(Iteration(i)).ok());
    program.saw(program.x, filled({2, 3}, 4));
    REQUIRE(program.recording->ran(program.relu).ok());
    program.saw(program.y, filled({2, 3}, i == 2 ? nan : 4));
    CHECK(program.recording->isFinite(program.y) == (i != 2));
    REQUIRE(program.recording->ran(node).ok());
    program.saw(program.recording->definitions().node(node).outputs[0], filled({2}, 1));
    REQUIRE(program.recording->keep(program.w, seen(filled({2}, 3))).ok());
    REQUIRE(program.recording->ran(program.update).ok());
    program.saw(program.next, filled({2}, 2));
    REQUIRE(program.recording->end({{"loss", 1.0}}).ok());
  }
  program.recording->finish({.state = "finished"});
  const auto reader = test::openRun(program.run);
  CHECK(reader->verify({}, {}).empty());
  const TensorId x = *reader->graph().findTensor("input/x"), y = *reader->graph().findTensor("Net/relu-op1"),
                 next = *reader->graph().findTensor("update/Net/SGD-op1");
  for (std::int64_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK_FALSE(core::isFlags(reader->statistics(Rank(0), Iteration(i), x).orThrow().values));
    for (const TensorId tensor : {y, next}) {
      const dump::RunReader::RowView view = reader->row(Rank(0), Iteration(i), tensor);
      REQUIRE(view.row);
      CHECK(core::isFlags(view.row->values));
      CHECK(view.row->values.count == (tensor == y ? 6 : 2));
      CHECK(view.row->values.nan == (tensor == y && i == 2 ? 6 : 0));
      CHECK_FALSE(view.row->change);
      CHECK_THAT(reader->statistics(Rank(0), Iteration(i), tensor).error().message(),
                 Catch::Contains("only its NaN and Inf were to be counted"));
      CHECK_FALSE(reader->hash(Rank(0), Iteration(i), tensor).ok());
    }
    // Before there is a graph all is looked at, so the first norm is known.
    CHECK(reader->scalar(Rank(0), Iteration(i), "gradient_norm").has_value() == (i == 0));
  }
}
