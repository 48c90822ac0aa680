// Small tools that make gradient rules short. Rules copy what they need from forward() first: adding a node
// may move the graph's tables.
#pragma once

#include <string>
#include <vector>

#include "core_engine/ops/op.h"

namespace msdbg::core {

using Gradients = std::vector<std::optional<Value>>;
using Ints = std::vector<std::int64_t>;

inline Ints intsOf(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

/// The attributes with one more (or another value of one).
inline Attributes with(Attributes attributes, const std::string& name, const Shape& shape) {
  attributes[name] = intsOf(shape);
  return attributes;
}

/// For operators of one differentiable input: its gradient is opType(dY, saved…), when wanted and when one
/// flows back.
inline Gradients unaryGradient(GradientBuilder& b, std::string_view opType,
                               const std::vector<Value>& saved = {}, Attributes attributes = {}) {
  Gradients gradients(b.forward().inputs.size());
  if (!b.wanted(0) || !b.outputGradient(0)) return gradients;
  std::vector<Value> inputs{*b.outputGradient(0)};
  inputs.insert(inputs.end(), saved.begin(), saved.end());
  gradients[0] = b.apply1(opType, std::move(inputs), std::move(attributes));
  return gradients;
}

}  // namespace msdbg::core
