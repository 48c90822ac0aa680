// The range in which an activation's elements are counted while recording, per operator type: where it is
// dead or saturated (shared/specs/watchpoints.md "Recommended set"). The recorder and activation_range use
// the same numbers. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "core_engine/ops/op.h"

namespace msdbg::watch {

struct ActivationPreset {
  double start, end;  // both included
  bool operator==(const ActivationPreset&) const = default;
};

/// nullopt: no preset for this operator.
inline std::optional<ActivationPreset> activationPreset(std::string_view opType) {
  constexpr double kTanhEnd = 0.9999999545590812;         // tanh(8.8)
  constexpr double kSigmoidStart = 9.21359998566181e-08;  // sigmoid(-16.2)
  constexpr double kSigmoidEnd = 0.9999999078640001;      // sigmoid(16.2)
  if (opType == "Relu") return ActivationPreset{-1, 0};
  if (opType == "Tanh") return ActivationPreset{-kTanhEnd, kTanhEnd};
  if (opType == "Sigmoid") return ActivationPreset{kSigmoidStart, kSigmoidEnd};
  return std::nullopt;
}

/// Of what the forward pass computes: what its statistics are taken with.
inline std::optional<ActivationPreset> activationPreset(const core::Graph& graph,
                                                        const core::TensorInfo& tensor) {
  if (tensor.isSource()) return std::nullopt;
  const core::Node& node = graph.node(tensor.producer);
  const core::OpDef* op = core::findOp(node);
  if (node.phase != core::Phase::kForward || !op || !op->activation) return std::nullopt;
  return activationPreset(node.opType);
}

}  // namespace msdbg::watch
