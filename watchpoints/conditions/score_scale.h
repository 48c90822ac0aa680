// What an attention's scores are multiplied by before their softmax. Pure functions of the graph;
// thread-safe.
#pragma once

#include <optional>
#include <string>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

struct ScaledUp {
  core::NodeId factor;  // the operator that multiplies
  std::string sentence;
};
/// Scores that are multiplied by the root of a width that their factors have, and not divided by it. nullopt:
/// they are not; or they are cosines, which are stretched.
std::optional<ScaledUp> scaledUp(const core::Graph& graph, const core::Node& softmax);

}  // namespace msdbg::watch
