// Parameters that are meant to train and that no gradient reaches: the graph knows it before the first step.
// Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

/// Tensors that the forward pass computes a loss from, and the losses, by index.
std::vector<bool> leadingToLosses(const Graph& graph);

/// One for each operator that cuts off, or layer that is cut off.
struct CutOff {
  NodeId node;  // the operator that stops the gradient, or the first that reads the parameter
  std::string
      sentence;  // "no gradient reaches net/h0/weight: stopped by Cast at rez.cpp:32; nor 3 more parameters"
};

/// Of a graph that was compiled for training; in the order of the parameters. Those that were frozen, or that
/// nothing reads, are not told, nor those of `except`; nor is a graph without any update, where nothing
/// trains.
std::vector<CutOff> cutOffParameters(const Graph& graph, std::span<const TensorId> except = {});

/// Parameters that have an update and whose every way to a loss is multiplied by a constant that is all
/// zeros: their gradient is zero whatever the data is. Told as above: "the gradient of net/h0/weight is
/// always zero: Mul at rez.cpp:32 multiplies by 0; nor 3 more parameters".
std::vector<CutOff> zeroedParameters(const Graph& graph);

}  // namespace msdbg::core
