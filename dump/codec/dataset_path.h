// The name of a tensor or scalar as a path below an HDF5 group: '/' separates nested groups. HDF5 gives "."
// and empty components a meaning of their own, so those, and '%', are written as %XX. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace msdbg::dump {

/// datasetPath("/tensor", "network/conv1/weight:0") -> "/tensor/network/conv1/weight:0"
std::string datasetPath(std::string_view group, std::string_view name);

/// Of a scalar, whose name is one component: "learning_rate" and "learning_rate/1" lie side by side, the
/// second as "/scalars/learning_rate%2F1".
std::string scalarPath(std::string_view name);
/// "learning_rate%2F1" -> "learning_rate/1"
std::string scalarName(std::string_view component);

}  // namespace msdbg::dump
