// PyTorch's aten operators (native_functions.yaml: names, order of tensor arguments); `add_`,
// which works in place, is `add` here.
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

// add, sub and addmm multiply by numbers of their own.
bool isUnscaled(const core::Node& node) {
  for (const std::string_view name : {"alpha", "beta"})
    if (const auto found = node.attributes.find(name); found != node.attributes.end()) {
      const auto* number = std::get_if<double>(&found->second);
      const auto* integer = std::get_if<std::int64_t>(&found->second);
      if ((number && *number != 1) || (integer && *integer != 1)) return false;
    }
  return true;
}

bool isNotTransposed(const core::Node& node) {
  const auto found = node.attributes.find("transposed");
  const auto* flag = found == node.attributes.end() ? nullptr : std::get_if<bool>(&found->second);
  return !flag || !*flag;
}

std::span<const Meaning> meanings() {
  using Names = std::vector<std::pair<std::string_view, std::string_view>>;
  static const Names dim = {{"dim", "axis"}}, dims = {{"dim", "axes"}, {"keepdim", "keepdims"}},
                     eps = {{"eps", "epsilon"}};
  static const std::vector<Meaning> rows = {
      {"_log_softmax", "LogSoftmax", {}, dim},
      {"_log_softmax_backward_data", "LogSoftmaxGrad", {}, dim},
      {"_softmax", "Softmax", {}, dim},
      {"_softmax_backward_data", "SoftmaxGrad", {}, dim},
      {"_to_copy", "Cast"},
      {"_unsafe_view", "Reshape"},
      {"abs", "Abs"},
      {"add", "Add", {}, {}, isUnscaled},
      {"addmm", "Gemm", {1, 2, 0}, {}, isUnscaled},
      {"bmm", "MatMul"},
      {"cat", "Concat", {}, dim},
      {"clamp", "Clip"},
      {"convolution", "Conv", {}, {}, isNotTransposed},
      {"cos", "Cos"},
      {"div", "Div"},
      {"elu", "Elu"},
      {"embedding", "Gather"},
      {"erf", "Erf"},
      {"exp", "Exp"},
      {"expand", "Expand"},
      {"gelu", "Gelu"},
      {"leaky_relu", "LeakyRelu", {}, {{"negative_slope", "alpha"}}},
      {"log", "Log"},
      {"log_softmax", "LogSoftmax", {}, dim},
      {"matmul", "MatMul"},
      {"maximum", "Max"},
      {"mean", "ReduceMean", {}, dims},
      {"minimum", "Min"},
      {"mm", "MatMul"},
      {"mul", "Mul"},
      {"native_batch_norm", "BatchNormalization", {}, eps},
      {"native_dropout", "Dropout", {}, {{"p", "ratio"}}},
      {"native_layer_norm", "LayerNormalization", {}, eps},
      {"neg", "Neg"},
      {"permute", "Transpose", {}, {{"dims", "perm"}}},
      {"pow", "Pow"},
      {"relu", "Relu"},
      {"reshape", "Reshape"},
      {"sigmoid", "Sigmoid"},
      {"sigmoid_backward", "SigmoidGrad"},
      {"sin", "Sin"},
      {"softmax", "Softmax", {}, dim},
      {"softplus", "Softplus"},
      {"sqrt", "Sqrt"},
      {"sub", "Sub", {}, {}, isUnscaled},
      {"sum", "ReduceSum", {}, dims},
      {"t", "Transpose"},
      {"tanh", "Tanh"},
      {"tanh_backward", "TanhGrad"},
      {"threshold_backward", "ReluGrad"},
      {"view", "Reshape"},
      {"where", "Where"},
  };
  return rows;
}

}  // namespace

DomainMeanings atenMeanings() { return {"aten", meanings}; }

}  // namespace msdbg::watch
