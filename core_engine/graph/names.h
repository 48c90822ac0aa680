// What somebody means who names tensors: in full, by a glob, or by the end of a name where it is the only
// one. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

/// "conv1/weight" ends "network/conv1/weight" at a '/' border, "v1/weight" does not. A name ends with itself.
bool endsAtBorder(std::string_view name, std::string_view end);

/// Whether a name or a glob fits this tensor: its name, its name with slot, or its alias. A name without slot
/// means slot 0; a glob (`*` crosses `/`) every slot.
bool namesTensor(std::string_view nameOrGlob, const TensorInfo& tensor);

/// The tensors that a name or a glob fits; of a name that fits none, those whose name (without slot for slot
/// 0) or alias ends so: `grad(conv1/weight)` ends `grad(network/conv1/weight)`; the only one of the forward
/// pass is meant rather than those of others. `loss`, where nothing is called so, means the tensors of that
/// role. In the graph's order; empty: none.
std::vector<TensorId> tensorsMeant(const Graph& graph, std::string_view nameOrGlob);

/// "; did you mean conv1/weight?" of names that end nearly so, in as many components; "" if none is near.
std::string nearestEnds(std::string_view wanted, const std::vector<std::string>& names);
/// The same for a name that no tensor has.
std::string nearestTensors(const Graph& graph, std::string_view name);

/// For a glob that fits no parameter: "; did you mean net/fc1/*?", else what there is as far as it leads:
/// "; there are net/fc1/*, net/fc2/*".
std::string nearestParameters(const Graph& graph, std::string_view glob);

/// "'weight' may mean a, b or 3 more; give more of the name".
std::string ambiguousName(std::string_view name, std::vector<std::string> candidates);

}  // namespace msdbg::core
