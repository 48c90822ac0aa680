// Squashing activations one behind the other: each passes less of the gradient than it is given. Pure
// functions of the graph; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

/// How many of Sigmoid and of Tanh lie between a tensor and the loss, on the way that has the least.
struct Squashing {
  int sigmoids = 0, tanhs = 0;
  int count() const { return sigmoids + tanhs; }
  /// "6 Sigmoid lie between it and the loss, and each passes a quarter of the gradient at most"; "": none.
  std::string text() const;
};
/// By index of the tensor; of what does not lead to the loss it means nothing.
std::vector<Squashing> squashingBehind(const core::Graph& graph);

}  // namespace msdbg::watch
