#include "core_engine/ops/op.h"
#include "dump/policy/checkpoints.h"
#include "dump/writer/iteration_record.h"
#include "watchpoints/activation_preset.h"

namespace msdbg::dump {
namespace {

std::optional<watch::ActivationPreset> activationRange(const core::Graph& graph,
                                                       const core::TensorInfo& tensor) {
  if (tensor.isSource()) return std::nullopt;
  const core::Node& node = graph.node(tensor.producer);
  const core::OpDef* op = core::findOp(node);
  if (node.phase != core::Phase::kForward || !op || !op->activation) return std::nullopt;
  return watch::activationPreset(node.opType);
}

}  // namespace

GraphPlan::GraphPlan(const core::Graph& source, std::int64_t graphVersion, Decisions what,
                     const RecordOptions& options)
    : graph(source),
      version(graphVersion),
      decisions(std::move(what)),
      checkpoints(options.checkpoints() != RecordOptions::kNoCheckpoints),
      batches(options.keepsBatches()) {
  graph.setVersion(graphVersion);
  for (const core::TensorInfo& tensor : graph.tensors()) {
    activation.push_back(activationRange(graph, tensor));
    stateTensors += inCheckpoint(tensor) && !isEmpty(tensor);
    batchTensors += inBatch(tensor) && !isEmpty(tensor);
    const Policy most = decisions.most(tensor.id);
    if (most >= Policy::kStats) statistics.push_back(tensor.id);
    if (most == Policy::kRecord) hashes.push_back(tensor.id);
  }
}

}  // namespace msdbg::dump
