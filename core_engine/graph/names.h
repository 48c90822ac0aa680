// How names are shortened where somebody gives them: the end of a name stands for it where it is the only
// one. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

/// "conv1/weight" ends "network/conv1/weight" at a '/' border, "v1/weight" does not. A name ends with itself.
bool endsAtBorder(std::string_view name, std::string_view end);

/// The tensors of which a name, with slot or without for slot 0, or the alias ends so; in the graph's order.
/// `grad(conv1/weight)` ends `grad(network/conv1/weight)`.
std::vector<TensorId> tensorsEndingWith(const Graph& graph, std::string_view end);

/// "'weight' may mean a, b or 3 more; give more of the name".
std::string ambiguousName(std::string_view name, std::vector<std::string> candidates);

}  // namespace msdbg::core
