// The training compiler: a flat list of rewrites, each timed and verified. Order of the resulting table:
// forward, backward, the Allreduce of each parameter gradient (ranks > 1), the scale of the loss (float16),
// accumulation, clipping, the updates; the collectives and updates in the order in which backward makes the
// gradients available (last layer first).
#pragma once

#include <string>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/passes/optimizer.h"

namespace msdbg::core {

/// What passes share: filled in as they go.
struct TrainingGraph {
  TensorId loss, learningRate;
  TensorId microStep;  // where gradients are accumulated: the iterations since the last update
  TensorId lossScale;  // where the loss is scaled: a state
  TensorId finite;     // and whether all gradients are finite: a bool
  TensorId due;        // where not every iteration updates: it does where this is every - 1
  std::int64_t every = 1;
  Optimizer optimizer;
  int ranks = 1;
  struct ParameterGradient {
    TensorId parameter, gradient;
  };
  std::vector<ParameterGradient> gradients;  // in order of availability; gradient is the reduced one after
                                             // Allreduce, then the unscaled, the accumulated, the clipped one
};

struct PassLog {
  std::string pass;
  double milliseconds = 0;
  std::string changed;        // "added 24 nodes", "(unchanged)"
  std::string before, after;  // the graph's text, where asked for
};

/// Rewrites a forward graph into a training graph in place. Errors as addGradients and checkOptimizer;
/// kInternal (naming the pass) when one broke the graph. `texts`: the log holds the graph before and after
/// every pass.
Result<TrainingGraph> compileTraining(Graph& graph, TensorId loss, const Optimizer& optimizer, int ranks,
                                      std::vector<PassLog>* log = nullptr, bool texts = false);

// One file per pass, but for scale_loss.cpp, which has all that scaling the loss takes.
/// A state for the scale, where the graph computes in float16; else none. scale_loss.cpp
TensorId addLossScale(Graph& graph, const TrainingGraph& training);
Status differentiatePass(Graph& graph, TrainingGraph& training);       // differentiate.cpp
Status allreduceGradientsPass(Graph& graph, TrainingGraph& training);  // allreduce_gradients.cpp
Status unscaleGradientsPass(Graph& graph, TrainingGraph& training);    // scale_loss.cpp
Status accumulateGradientsPass(Graph& graph,
                               TrainingGraph& training);          // accumulate_gradients.cpp
Status skipOverflowsPass(Graph& graph, TrainingGraph& training);  // scale_loss.cpp
Status clipGradientsPass(Graph& graph, TrainingGraph& training);  // clip_gradients.cpp
Status insertUpdatesPass(Graph& graph, TrainingGraph& training);  // insert_updates.cpp

}  // namespace msdbg::core
