// Why a gradient is zero, or as good as zero: whether that is right, and if not, where it became so. From the
// rows of one iteration. Used from one thread.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// A gradient as PyTorch's recorder has it where operators are not recorded: of a module, or of a parameter,
/// which reads none of its size. What it was multiplied with nobody sees.
bool isWithoutOperators(const core::Graph& graph, const core::Node& node);

/// Whether a node of the backward pass adds what several uses of one thing bring, also where shapes are no
/// longer those that an Add of ours needs (a recorder that leaves views out).
bool isSumOfUses(const core::Node& node);

/// A sum that is what rounding left over: the true one is zero. So is the gradient of a bias before a
/// normalisation over its channel, or of a key's bias before the softmax over keys: the loss does not depend
/// on them. Seen where the sum is below 100 eps times the sum of magnitudes; a true sum is hardly ever.
bool isRoundingNoise(EvaluationContext& context, core::Rank rank, core::TensorId gradient);

/// Whether the parameter is only added before a BatchNormalization, which takes it out again, or before a
/// difference of two results of its layer (siamese nets).
bool isShiftTakenOut(const core::Graph& graph, core::TensorId parameter);

/// Whether a layer comes after the tensor. What none follows may be the loss itself: a hinge at zero has been
/// learnt.
bool leadsToParameters(const core::Graph& graph, core::TensorId from);

struct ZeroCause {
  enum class Kind {
    kHere,        // its inputs are not zero, the result is
    kActivation,  // an activation function that is dead or saturated in every element
    kFactor,      // a parameter that is all zero and is multiplied with it
    kData,        // an input of the graph that is all zero
    kConstant,    // a constant zero
    kLoss,        // the gradient that starts at the loss
    kUnknown,     // not recorded
  };
  Kind kind = Kind::kUnknown;
  core::TensorId tensor;  // the first that is zero, or the activation's output
  core::NodeId node;      // the operator to look at; of sources the forward one that reads it
};

/// Goes back from a tensor that is all zero to where zeros begin.
ZeroCause zeroCause(EvaluationContext& context, core::Rank rank, core::TensorId tensor);

}  // namespace msdbg::watch
