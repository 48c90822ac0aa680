#include "core_engine/graph/graph_text.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/graph/sample_graph.h"

using namespace msdbg;
using namespace msdbg::core;

TEST_CASE("The text form has one line a node") {
  CHECK(graphText(test::sampleGraph()) ==
        "%0 = Relu(network/x:0) -> float32[4,6]  # network/fc/Relu-op1 @ net.cpp:12\n"
        "%1 = Fork(network/fc/Relu-op1:0, network/fc/weight:0) {axis=1, mode=\"a \\\"b\\\"\", scale=0.5, "
        "split=[2,4]}"
        " -> float32[4,2], float32[4,-1]  # network/Fork-op1 @ net.cpp:12\n"
        "%2 = Mystery(network/Fork-op1:0) -> float32[]  # network/Mystery-op1\n"
        "%3 = MysteryGrad(network/Mystery-op1:0) -> float32[4,6]  # grad/network/MysteryGrad-op1\n"
        "%4 = MysteryUpdate(network/fc/weight:0, grad/network/MysteryGrad-op1:0) -> float32[4,6]"
        "  # update/network/fc/MysteryUpdate-op1 @ net.cpp:12\n");
  CHECK(graphText(Graph()).empty());
}

TEST_CASE("Attributes are written so that they read back") {
  CHECK(attributeText(std::int64_t{-3}) == "-3");
  CHECK(attributeText(0.1) == "0.1");
  CHECK(attributeText(std::nan("")) == "nan");
  CHECK(attributeText(std::string("mean")) == "\"mean\"");
  CHECK(attributeText(std::vector<std::int64_t>{}) == "[]");
}
