// The only list of operators. To add one: op_<name>.cpp, its factory in builtin_ops.h, a row here, a sample
// in tests/ops/samples.
#include "core_engine/ops/builtin_ops.h"

namespace msdbg::core {

std::span<const OpFactory> builtinOps() {
  static constexpr OpFactory kOps[] = {
      addOp,
      allreduceOp,
      castOp,
      convOp,
      convGradInputOp,
      convGradWeightOp,
      divOp,
      dropoutOp,
      dropoutGradOp,
      flattenOp,
      gemmOp,
      identityOp,
      logSoftmaxOp,
      logSoftmaxGradOp,
      matMulOp,
      maxPoolOp,
      maxPoolGradOp,
      mulOp,
      reduceMeanOp,
      reduceMeanGradOp,
      reduceSumOp,
      reduceSumGradOp,
      reluOp,
      reluGradOp,
      reshapeOp,
      sgdUpdateOp,
      sigmoidOp,
      sigmoidGradOp,
      softmaxOp,
      softmaxCrossEntropyLossOp,
      softmaxCrossEntropyLossGradOp,
      softmaxGradOp,
      subOp,
      tanhOp,
      tanhGradOp,
      transposeOp,
  };
  return kOps;
}

}  // namespace msdbg::core
