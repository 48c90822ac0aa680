// What else a name on a command line may have meant. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace msdbg::replay {

/// "; did you mean a or b?": the nearest names, shortened to as many components as `wanted` has.
std::string suggestion(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace msdbg::replay
