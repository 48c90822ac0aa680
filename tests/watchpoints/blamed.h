// What a rule blames on a small program: with values, and with statistics alone.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/train/layers.h"
#include "tests/watchpoints/traced_program.h"
#include "watchpoints/blame/blame.h"

namespace msdbg::test::blame {

using namespace msdbg::core;
using namespace msdbg::watch;

inline constexpr float kInf = INFINITY;

inline std::string blamed(FakeSource& source, TensorId output, Wrong wrong) {
  const Node& node = source.graph().node(source.graph().tensor(output).producer);
  const auto blame = blameOperator(source, Rank(0), Iteration(0), node, output, wrong);
  if (blame) CHECK(blame->tensor == node.inputs.at(blame->input));
  return blame ? blame->text : "";
}

struct Case {
  Program program;
  Named inputs;
  std::string text;        // with values
  std::string statistics;  // without
  Wrong wrong = Wrong::kNonFinite;
};

inline void check(const Case& c) {
  const Trace trace = traceForward(c.program, c.inputs);
  CHECK(blamed(*trace.source, trace.result, c.wrong) == c.text);
  trace.source->loseValues();
  CHECK(blamed(*trace.source, trace.result, c.wrong) == c.statistics);
}

/// A program of one operator on x and, where asked for, y.
inline Program unary(std::function<Value(Value)> f, Shape shape) {
  return [=](Graph& g) { return f(g.input("x", shape)); };
}
inline Program binary(std::function<Value(Value, Value)> f, Shape a, Shape b) {
  return [=](Graph& g) { return f(g.input("x", a), g.input("y", b)); };
}

/// The output of the first node of this type and phase.
inline TensorId outputOf(const FakeSource& source, std::string_view type, Phase phase) {
  for (const Node& node : source.graph().nodes())
    if (node.opType == type && node.phase == phase) return node.outputs.front();
  FAIL("no " << type);
  return {};
}

inline std::string adviceFor(const Trace& trace, TensorId output) {
  const Graph& graph = trace.source->graph();
  const auto blame = blameOperator(*trace.source, Rank(0), Iteration(0),
                                   graph.node(graph.tensor(output).producer), output, Wrong::kNonFinite);
  REQUIRE(blame);
  return blame->advice;
}

}  // namespace msdbg::test::blame
