// The name of a tensor or scalar as a path below an HDF5 group: '/' separates nested groups. HDF5 gives "."
// and empty components a meaning of their own, so those, and '%', are written as %XX. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace msdbg::dump {

/// datasetPath("/tensor", "network/conv1/weight:0") -> "/tensor/network/conv1/weight:0"
std::string datasetPath(std::string_view group, std::string_view name);

}  // namespace msdbg::dump
