// RankEngine: one rank's executor of the graph that it recorded, whichever that is in an iteration. Used from
// one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/batch.h"
#include "core_engine/tensor/training_state.h"

namespace msdbg::replay {

class RankEngine {
 public:
  explicit RankEngine(core::ExecutorOptions options) : m_options(std::move(options)) {}

  /// What is carried from iteration to iteration goes on where an earlier graph has it too. kUnsupported: an
  /// operator that this engine does not know, or that is of another domain.
  core::Status use(core::Graph graph);
  /// From now on a detour may replace what these nodes compute; up to the next graph. Parameters and states
  /// stay.
  core::Status replaceable(std::vector<core::NodeId> nodes);
  bool hasGraph() const { return m_executor != nullptr; }

  /// kUsage: something is missing in it, or is of another type.
  core::Status restore(const core::TrainingState& state);
  /// Does not stop at what is not an input of the graph: kUsage.
  core::Status run(const core::Batch& batch, core::Observer* observer, const core::Detour& detour);

  const core::Graph& graph() const { return *m_graph; }
  core::Executor& executor() { return *m_executor; }
  std::size_t bytes() const { return m_executor ? m_executor->peakBytes() : 0; }
  /// "dnnl:Conv" of a node, as compiled here; "" of none.
  std::string kernelOf(core::NodeId node) const;
  /// Where the code that computes a node is not what computed it when it was recorded, in words; of many
  /// nodes the first for each kernel and reason.
  const std::vector<std::string>& otherKernels() const { return m_otherKernels; }
  /// Whether the recording says which revisions of kernels computed it.
  bool knowsRevisions() const { return m_knowsRevisions; }

 private:
  core::Status compile(core::Graph graph);
  void compareKernels(const std::vector<core::Kernel>& recorded);

  core::ExecutorOptions m_options;
  std::unique_ptr<core::Graph> m_graph;  // the executor looks at it
  std::unique_ptr<core::Executor> m_executor;
  std::vector<std::string> m_otherKernels;
  bool m_knowsRevisions = true;
};

}  // namespace msdbg::replay
