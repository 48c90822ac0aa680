// How names and paths are shortened on a command line. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace msdbg::replay {

/// "conv1/weight" ends "network/conv1/weight" at a '/' border, "v1/weight" does not. A name ends with itself.
bool endsAtBorder(std::string_view name, std::string_view suffix);

/// "; did you mean a or b?": the nearest names, shortened to as many components as `wanted` has.
std::string suggestion(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace msdbg::replay
