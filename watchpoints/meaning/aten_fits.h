// What only shapes or values of attributes tell of aten's operators: see Meaning::applies and Meaning::fits.
// Pure functions; thread-safe.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::watch::aten {

/// add, sub and addmm multiply by numbers of their own, `alpha` and `beta`.
bool isUnscaled(const core::Node& node);
bool isNotTransposed(const core::Node& node);
/// div without rounding_mode.
bool isTrueDivision(const core::Node& node);
/// threshold_backward of relu; softplus of beta 1.
bool isOfZero(const core::Node& node);
bool hasBetaOne(const core::Node& node);
/// max, min: of one tensor along a dimension or all; of two element by element they are maximum and minimum.
bool hasOneInput(const core::Node& node);

bool castFits(const core::Graph& graph, const core::Node& theirs, core::Node& ours);
/// A convolution of any number of dimensions. Sets strides, dilations and pads where ours has them.
bool convolutionFits(const core::Graph& graph, const core::Node& theirs, core::Node& ours);
/// Windows over planes: batch and channels are those of the input.
bool poolingFits(const core::Graph& graph, const core::Node& theirs, core::Node& ours);
bool layerNormFits(const core::Graph& graph, const core::Node& theirs, core::Node& ours);
/// Outputs are gradients of what was normalised, of its scale and of its bias.
bool normGradientFits(const core::Graph& graph, const core::Node& theirs, core::Node& ours);
bool embeddingGradientFits(const core::Graph& graph, const core::Node& theirs, core::Node& ours);

}  // namespace msdbg::watch::aten
