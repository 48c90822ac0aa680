// graphs/HASH.pb: the graph as protobuf (graph.proto). Input is untrusted: sizes and depth are limited, the
// result verified.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

std::string serializeGraph(const Graph& graph);  // deterministic bytes
/// kDamaged when the bytes are no graph or break an invariant; `origin` (a file name) is put in the message.
Result<Graph> parseGraph(std::span<const std::byte> bytes, const std::string& origin);

}  // namespace msdbg::core
