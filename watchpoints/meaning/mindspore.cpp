// MindSpore's primitives (mindspore.ops: names, order of inputs). Axes and shapes may be inputs there: those
// are left out; Transpose, which is nothing without its own, has no row.
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

std::span<const Meaning> meanings() {
  static const std::vector<Meaning> rows = {
      {"Abs", "Abs"},
      {"Add", "Add"},
      {"AllReduce", "Allreduce"},
      {"BatchMatMul", "MatMul"},
      {"BatchNorm", "BatchNormalization"},
      {"BiasAdd", "Add"},
      {"Cast", "Cast", {0}},
      {"Concat", "Concat"},
      {"Conv2D", "Conv"},
      {"Cos", "Cos"},
      {"Div", "Div"},
      {"Erf", "Erf"},
      {"Elu", "Elu"},
      {"Exp", "Exp"},
      {"GeLU", "Gelu"},
      {"HSigmoid", "HardSigmoid"},
      {"HSwish", "HardSwish"},
      {"Gather", "Gather", {0, 1}},
      {"LayerNorm", "LayerNormalization"},
      {"Log", "Log"},
      {"LogSoftmax", "LogSoftmax"},
      {"MatMul", "MatMul"},
      {"Maximum", "Max"},
      {"Minimum", "Min"},
      {"Mul", "Mul"},
      {"Neg", "Neg"},
      {"Pow", "Pow"},
      {"ReLU", "Relu"},
      {"RealDiv", "Div"},
      {"ReduceMean", "ReduceMean", {0}},
      {"ReduceSum", "ReduceSum", {0}},
      {"Reshape", "Reshape", {0}},
      {"Select", "Where"},
      {"Sigmoid", "Sigmoid"},
      {"SigmoidGrad", "SigmoidGrad", {1, 0}},
      {"Sin", "Sin"},
      {"Softmax", "Softmax"},
      {"Softplus", "Softplus"},
      {"SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyLoss"},
      {"Sqrt", "Sqrt"},
      {"Sub", "Sub"},
      {"Tanh", "Tanh"},
      {"TanhGrad", "TanhGrad", {1, 0}},
      {"TensorAdd", "Add"},
  };
  return rows;
}

}  // namespace

DomainMeanings mindsporeMeanings() { return {"mindspore", meanings}; }

}  // namespace msdbg::watch
