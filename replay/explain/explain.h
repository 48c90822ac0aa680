// Explain: from one element of a tensor back through operators, optimizers, ranks and iterations, to what
// made it so: a sample of the batch, the update that moved a parameter, the operator that made a value that
// is not finite. Reads a run, and where that has no value whoever computes it again. Used from the run's
// thread.
#pragma once

#include <functional>

#include "replay/explain/dependence.h"
#include "replay/proof.h"
#include "replay/run.h"

namespace msdbg::replay {

struct ExplainedFactor {
  core::TensorId tensor;
  core::Rank rank;
  std::int64_t element = 0;
  double value = 0;
  core::Shape shape;  // of the tensor there: the graph of the run may show another iteration's
};

struct ExplainedTerm {
  double coefficient = 1, contribution = 0;
  double share = 0;  // of the sum of all finite magnitudes; 0 where it is not finite itself
  std::vector<ExplainedFactor> factors;  // empty: a constant
};

/// What an element is made of. At most ExplainOptions::terms of each are listed.
struct ExplainedTerms {
  std::int64_t count = 0, notFinite = 0;
  double sum = 0, magnitude = 0;               // of the finite ones: signed, and of their magnitudes
  std::vector<ExplainedTerm> largest;          // those that are not finite first, in their order
  std::int64_t reads = 0, readsNotFinite = 0;  // elements that it depends on besides
  std::vector<ExplainedFactor> arguments;  // those that are not finite first, else as the operator has them
  bool cancels() const;                    // little of the magnitudes is left in the sum
};

/// One element on the way back, what made it, and of what.
struct ExplainedStep {
  core::TensorId tensor;
  core::Rank rank;
  core::Iteration iteration;
  core::Shape shape;                    // there; of rank 0 too where it is not known
  std::optional<std::int64_t> element;  // nullopt: the tensor as a whole
  std::optional<double> value;
  std::string unusual;  // "usually 0.02 (mean magnitude, median of 7 iterations)"; "" where it is as usual
  core::NodeId node;    // invalid: a source
  std::optional<Relation> relation;  // nullopt: a source, or only statistics tell
  bool madeHere = false;             // not finite, of what is
  ExplainedTerms terms;
  std::string reason;  // why it was followed from here by statistics, or why values do not tell
};

enum class CauseKind {
  kSample,          // an input of the batch: `sample` says which
  kHyperparameter,  // a learning rate
  kConstant,        // of the graph
  kInitial,         // a parameter's or state's first value, or nothing is recorded before
  kSetOutside,      // the program set it between two iterations
  kUpdate,          // the parameter's last update: the step before tells its terms; it is as usual
  kOperator,        // made by the operator, of what is as usual
  kNotReproduced,   // computed again from what the operator read, it is another value
  kSpread,          // the sum of many terms, of which none has more than half
  kUnknown,         // neither values nor statistics tell more
  kDepth,           // as far as was asked
  kLoop,            // seen before on the way
};

struct Explanation {
  std::vector<ExplainedStep> steps;  // what was asked for first
  std::optional<std::size_t> made;   // the step at which it ceased to be finite: the last with madeHere
  CauseKind cause = CauseKind::kUnknown;
  std::optional<std::int64_t> sample;  // in the rank's batch
  std::string why;                     // kUnknown: in words
};

struct ExplainOptions {
  core::CancelToken cancel = {};
  std::function<void(std::int64_t steps)> progress = {};
  ValueSource* computed = nullptr;  // asked where the run has no value or row; outlives the call
  /// The first that differs of what was computed again and does not have its recorded hash; empty: not known.
  std::function<std::optional<Mismatch>()> differs = {};
  /// What decides bits otherwise here than where it was recorded; empty: nothing.
  std::function<std::vector<std::string>()> otherHere = {};
  std::size_t terms = 3, depth = 200;
};

/// Where to begin, where the caller leaves it open.
struct Beginning {
  core::TensorId tensor;
  core::Rank rank;
  core::Iteration iteration;
  std::optional<std::int64_t> element;
  std::string iterationChosen, elementChosen;  // how, in words; "" where it was given
};

/// The loss; kUsage: the run has none, or several.
core::Result<core::TensorId> lossOf(const core::Graph& graph);
/// `iteration`: else the first in which the tensor is not finite, else the last. `element`: else the first
/// that is not finite, else that of the largest magnitude, where the value is there. kUnavailable: the rank
/// has no iteration; kUsage: no such element; kCancelled.
core::Result<Beginning> beginningOf(Run& run, core::TensorId tensor, core::Rank rank,
                                    std::optional<core::Iteration> iteration,
                                    std::optional<std::int64_t> element, const ExplainOptions& options);

/// kCancelled, kDamaged. What is not there ends the way, and is said.
core::Result<Explanation> explain(Run& run, const Beginning& from, const ExplainOptions& options);

}  // namespace msdbg::replay
