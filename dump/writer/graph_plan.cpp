#include <algorithm>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
#include "dump/statistics_columns.h"
#include "dump/writer/iteration_record.h"
#include "dump/writer/recorder.h"
#include "watchpoints/activation_preset.h"

namespace msdbg::dump {
namespace {

std::optional<watch::ActivationPreset> activationRange(const core::Graph& graph,
                                                       const core::TensorInfo& tensor) {
  if (tensor.isSource()) return std::nullopt;
  const core::Node& node = graph.node(tensor.producer);
  const core::OpDef* op = core::findOp(node.opType);
  if (node.phase != core::Phase::kForward || !op || !op->activation) return std::nullopt;
  return watch::activationPreset(node.opType);
}

std::uint64_t bytesOf(const core::TensorInfo& tensor) {
  if (!tensor.shape.known()) return 0;
  return static_cast<std::uint64_t>(tensor.shape.elements()) * core::dtypeSize(tensor.dtype);
}

}  // namespace

bool choosesFull(const core::TensorInfo& tensor, const RecordOptions& options) {
  if (options.policy != Policy::kFull) return false;
  const auto matches = [&](const std::string& pattern) {
    const bool bareName = tensor.slot == 0 || core::isGlob(pattern);
    return (bareName && core::globMatch(pattern, tensor.name)) ||
           core::globMatch(pattern, tensor.fullName()) ||
           (!tensor.alias.empty() && core::globMatch(pattern, tensor.alias));
  };
  return options.tensors.empty() || std::any_of(options.tensors.begin(), options.tensors.end(), matches);
}

GraphPlan::GraphPlan(const core::Graph& source, std::int64_t graphVersion, const RecordOptions& options)
    : graph(source), version(graphVersion) {
  graph.setVersion(graphVersion);
  for (const core::TensorInfo& tensor : graph.tensors()) {
    full.push_back(choosesFull(tensor, options));
    activation.push_back(activationRange(graph, tensor));
  }
}

ExpectedSize expectedSize(const core::Graph& graph, const RecordOptions& options) {
  ExpectedSize size;
  for (const core::TensorInfo& tensor : graph.tensors()) {
    ++size.tensors;
    size.statisticsBytes += statisticsRowBytes();
    if (!choosesFull(tensor, options)) continue;
    ++size.fullTensors;
    size.fullBytes += bytesOf(tensor);
  }
  return size;
}

}  // namespace msdbg::dump
