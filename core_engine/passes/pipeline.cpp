#include "core_engine/passes/pipeline.h"

#include <chrono>

#include "core_engine/graph/graph_text.h"
#include "core_engine/graph/verify.h"

namespace msdbg::core {
namespace {

struct Pass {
  const char* name;
  Status (*run)(Graph& graph, TrainingGraph& training);
};

constexpr Pass kPipeline[] = {
    {"differentiate", differentiatePass},        {"allreduce_gradients", allreduceGradientsPass},
    {"unscale_gradients", unscaleGradientsPass}, {"accumulate_gradients", accumulateGradientsPass},
    {"skip_overflows", skipOverflowsPass},       {"clip_gradients", clipGradientsPass},
    {"insert_updates", insertUpdatesPass},
};

Status runPass(const Pass& pass, Graph& graph, TrainingGraph& training, PassLog& log) {
  const auto start = std::chrono::steady_clock::now();
  const std::size_t before = graph.nodes().size();
  if (Status s = pass.run(graph, training); !s.ok()) return s;
  if (Status s = verify(graph); !s.ok()) return s.error().in(std::string("after pass ") + pass.name);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  const std::size_t added = graph.nodes().size() - before;
  log.milliseconds = took.count();
  log.changed = added ? "added " + std::to_string(added) + " nodes" : "(unchanged)";
  return Ok{};
}

}  // namespace

/// The role says which tensor training makes small; a cross-entropy may be only a part of it.
static void markLoss(Graph& graph, TensorId loss) {
  for (std::size_t i = 0; i < graph.tensors().size(); ++i) {
    TensorInfo& info = graph.tensor(TensorId(static_cast<std::int64_t>(i)));
    if (info.role == TensorRole::kLoss) info.role = TensorRole::kActivation;
  }
  graph.tensor(loss).role = TensorRole::kLoss;
}

Result<TrainingGraph> compileTraining(Graph& graph, TensorId loss, const Optimizer& optimizer, int ranks,
                                      std::vector<PassLog>* log, bool texts) {
  MSDBG_TRY(checkOptimizer(optimizer));
  if (Status s = verify(graph); !s.ok()) return s.error().in("the model as built");
  markLoss(graph, loss);
  TrainingGraph training;
  training.loss = loss;
  training.optimizer = optimizer;
  training.ranks = ranks;
  for (const Pass& pass : kPipeline) {
    PassLog entry{pass.name, 0, {}, texts ? graphText(graph) : "", {}};
    MSDBG_TRY(runPass(pass, graph, training, entry));
    if (texts) entry.after = graphText(graph);
    if (log) log->push_back(std::move(entry));
  }
  return training;
}

}  // namespace msdbg::core
