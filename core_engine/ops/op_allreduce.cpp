// Allreduce: the sum over all ranks, in rank order, the same bits on every rank.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/communicator.h"
#include "core_engine/ops/copy.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Allreduce", inputs, {"X"});
}

Status reference(const KernelArgs& args) {
  if (args.state.ranks == 1 || !args.state.communicator) return copyInput(args);
  const Status status = args.state.communicator->allreduceSum(*args.inputs[0], *args.outputs[0]);
  return status.ok() ? status : status.error().in(args.node.name);
}

}  // namespace

OpDef allreduceOp() {
  return {
      .name = "Allreduce",
      .doc = "Y = X of rank 0 + X of rank 1 + …, in that order on every rank; a copy on a single rank. msdbg",
      .inputNames = {"X"},
      .outputNames = {"Y"},
      .infer = infer,
      .reference = reference};
}

}  // namespace msdbg::core
