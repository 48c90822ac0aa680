#include "core_engine/graph/graph_io.h"
#include "core_engine/graph/verify.h"
#include "tests/fuzz/fuzz_targets.h"

namespace msdbg::fuzz {

void fuzzGraph(Bytes input) {
  const auto graph = core::parseGraph(input, "graph_0000.pb");
  if (!graph.ok()) return;
  require(core::verify(*graph).ok(), "a graph that was read is whole");
  const std::string bytes = core::serializeGraph(*graph);
  const auto again = core::parseGraph(std::as_bytes(std::span(bytes.data(), bytes.size())), "again");
  require(again.ok(), "a graph that was written can be read");
  require(core::serializeGraph(*again) == bytes, "a graph is written as it was read");
}

}  // namespace msdbg::fuzz
