// The terms of one element, as the row of its operator names them, those that matter kept. Used from the
// run's thread.
#pragma once

#include "replay/explain/look_internal.h"

namespace msdbg::replay {

/// An element on the way.
struct ExplainPlace {
  core::TensorId tensor;
  core::Rank rank;
  core::Iteration iteration;
  std::optional<std::int64_t> element;
  std::optional<double> value;
  core::Shape shape;
};

struct NodeTerms {
  Relation relation = Relation::kSum;
  ExplainedTerms shown;
  /// The factors to follow: the first that is not finite, of a term or else of the rest.
  std::optional<ExplainedFactor> notFinite;
  /// Of the term that contributes most, and its share.
  std::vector<ExplainedFactor> leading;
  double share = 0;
  /// Of what is no term: the operator's first (its own place), and the largest of each input.
  std::vector<ExplainedFactor> arguments;
};

/// kUnavailable, kUnsupported: in words why values do not tell; kDamaged, kCancelled. The place has an
/// element.
core::Result<NodeTerms> termsOf(ExplainLook& look, const ExplainPlace& place, const core::Node& node);

/// What the operator's reference kernel makes of the recorded inputs, in their dtype. kUnavailable: an input
/// is not there, it would take too long, or the operator is of several ranks.
core::Result<core::Tensor> computedHere(ExplainLook& look, const ExplainPlace& place, const core::Node& node);

}  // namespace msdbg::replay
