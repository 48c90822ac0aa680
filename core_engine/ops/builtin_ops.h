// The factories of all built-in operators, each defined in its own op_<name>.cpp. The list itself is
// builtin_ops.cpp.
#pragma once

#include "core_engine/ops/op.h"

namespace msdbg::core {

OpDef addOp();
OpDef allreduceOp();
OpDef castOp();
OpDef convOp();
OpDef convGradInputOp();
OpDef convGradWeightOp();
OpDef divOp();
OpDef dropoutOp();
OpDef dropoutGradOp();
OpDef flattenOp();
OpDef gemmOp();
OpDef identityOp();
OpDef logSoftmaxOp();
OpDef logSoftmaxGradOp();
OpDef matMulOp();
OpDef maxPoolOp();
OpDef maxPoolGradOp();
OpDef mulOp();
OpDef reduceMeanOp();
OpDef reduceMeanGradOp();
OpDef reduceSumOp();
OpDef reduceSumGradOp();
OpDef reluOp();
OpDef reluGradOp();
OpDef reshapeOp();
OpDef sgdUpdateOp();
OpDef sigmoidOp();
OpDef sigmoidGradOp();
OpDef softmaxOp();
OpDef softmaxCrossEntropyLossOp();
OpDef softmaxCrossEntropyLossGradOp();
OpDef softmaxGradOp();
OpDef subOp();
OpDef tanhOp();
OpDef tanhGradOp();
OpDef transposeOp();

}  // namespace msdbg::core
