#include "dump/policy/checkpoints.h"
#include "dump/writer/iteration_record.h"
#include "watchpoints/activation_preset.h"

namespace msdbg::dump {
GraphPlan::GraphPlan(const core::Graph& source, std::int64_t graphVersion, Decisions what,
                     const RecordOptions& options, int ranks)
    : graph(source),
      version(graphVersion),
      decisions(std::move(what)),
      checkpoints(checkpointInterval(options, source, ranks) != RecordOptions::kNoCheckpoints),
      batches(keepsBatches(options, source, ranks)) {
  graph.setVersion(graphVersion);
  for (const core::TensorInfo& tensor : graph.tensors()) {
    activation.push_back(watch::activationPreset(graph, tensor));
    stateTensors += inCheckpoint(tensor) && !isEmpty(tensor);
    batchTensors += inBatch(tensor) && !isEmpty(tensor);
    const Policy most = decisions.most(tensor.id);
    if (most >= Policy::kFlags) statistics.push_back(tensor.id);
    if (most == Policy::kRecord) hashes.push_back(tensor.id);
  }
}

}  // namespace msdbg::dump
