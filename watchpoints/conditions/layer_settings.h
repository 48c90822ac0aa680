// What layers are set to that no training wants. Pure functions of the graph; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "watchpoints/condition.h"

namespace msdbg::watch {

struct LayerSetting {
  core::NodeId node;
  std::string_view parameter;  // of the condition; "": there is none
  double preset = 0, actual = 0;
  std::string detail, advice;  // advice "": the condition's
  Severity severity = Severity::kFault;
};

/// Dropouts of `dropoutMax` or more, PyTorch's of its CPU too, which draws and scales a mask; and, as hints,
/// normalisations whose epsilon is no small number, or whose running statistics forget at once.
std::vector<LayerSetting> oddLayerSettings(const core::Graph& graph, double dropoutMax);

}  // namespace msdbg::watch
