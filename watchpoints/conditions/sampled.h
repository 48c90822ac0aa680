// What is drawn of numbers that are learnt, and no gradient comes back through. Pure functions of the graph;
// thread-safe.
#pragma once

#include <optional>
#include <string>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

struct Sampled {
  core::NodeId draw;
  std::string sentence;
};
/// A normal distribution that is sampled without gradients, of a mean that gets some another way, where a
/// layer that is trained reads the sample: rsample() was meant. nullopt: none.
std::optional<Sampled> sampledAway(const core::Graph& graph);

}  // namespace msdbg::watch
