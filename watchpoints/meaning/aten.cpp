// PyTorch's aten operators (native_functions.yaml: names, order of tensor arguments; numbers are attributes
// by their names there); `add_`, which works in place, is `add` here. What common programs dispatch, forward
// and backward, was listed by a TorchDispatchMode. Views are folded by the recorder and have no row.
#include "watchpoints/meaning/aten_fits.h"
#include "watchpoints/meaning/fits.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using Names = std::vector<std::pair<std::string_view, std::string_view>>;
using core::Attributes;

const Names kDim = {{"dim", "axis"}}, kDims = {{"dim", "axes"}, {"keepdim", "keepdims"}},
            kEps = {{"eps", "epsilon"}}, kGroups = {{"eps", "epsilon"}, {"group", "num_groups"}},
            kTraining = {{"eps", "epsilon"}, {"training", "training_mode"}},
            kWindow = {{"kernel_size", "kernel_shape"}, {"stride", "strides"}, {"dilation", "dilations"}},
            kConvolution = {{"stride", "strides"}, {"dilation", "dilations"}, {"groups", "group"}},
            kBounds = {{"min_val", "min"}, {"max_val", "max"}}, kSlope = {{"negative_slope", "alpha"}};

// Their reductions drop what they reduce unless told otherwise.
const Attributes kDropped = {{"keepdims", std::int64_t{0}}};

std::vector<Meaning> elementwise() {
  return {
      {"abs", "Abs", {}, {}, nullptr, hasElementsOfOutput},
      {"add", "Add", {}, {}, aten::isUnscaled, haveElementsOfOutput},
      {"clamp", "Clip", {}, {}, aten::hasOneInput, hasElementsOfOutput},
      {"clamp_max", "Clip", {}, {}, aten::hasOneInput, hasElementsOfOutput},
      {"clamp_min", "Clip", {}, {}, aten::hasOneInput, hasElementsOfOutput},
      {"clone", "Identity", {}, {}, nullptr, hasElementsOfOutput},
      {"copy", "Identity", {1}},
      {"cos", "Cos", {}, {}, nullptr, hasElementsOfOutput},
      {"div", "Div", {}, {}, aten::isTrueDivision, haveElementsOfOutput},
      {"elu", "Elu", {}, {}, nullptr, hasElementsOfOutput},
      {"elu_backward", "EluGrad", {}, {}, nullptr, hasElementsOfOutput},
      {"eq", "Equal"},
      {"erf", "Erf", {}, {}, nullptr, hasElementsOfOutput},
      {"exp", "Exp", {}, {}, nullptr, hasElementsOfOutput},
      {"exp2", "Exp", {}, {}, nullptr, nullptr, {}, true},
      {"expm1", "Exp", {}, {}, nullptr, nullptr, {}, true},
      {"ge", "GreaterOrEqual"},
      {"gelu", "Gelu", {}, {}, nullptr, hasElementsOfOutput},
      {"gelu_backward", "GeluGrad", {}, {}, nullptr, hasElementsOfOutput},
      {"gt", "Greater"},
      {"hardsigmoid", "HardSigmoid", {}, {}, nullptr, hasElementsOfOutput, {{"alpha", 1.0 / 6}}},
      {"hardsigmoid_backward", "HardSigmoidGrad", {}, {}, nullptr, hasElementsOfOutput, {{"alpha", 1.0 / 6}}},
      {"hardswish", "HardSwish", {}, {}, nullptr, hasElementsOfOutput},
      {"hardswish_backward", "HardSwishGrad", {}, {}, nullptr, hasElementsOfOutput},
      {"hardtanh", "Clip", {}, kBounds, nullptr, hasElementsOfOutput},
      {"hardtanh_backward", "ClipGrad", {}, kBounds, nullptr, hasElementsOfOutput},
      {"le", "LessOrEqual"},
      {"leaky_relu", "LeakyRelu", {}, kSlope, nullptr, hasElementsOfOutput},
      {"leaky_relu_backward", "LeakyReluGrad", {}, kSlope, nullptr, hasElementsOfOutput},
      {"log", "Log", {}, {}, nullptr, hasElementsOfOutput},
      {"log10", "Log", {}, {}, nullptr, nullptr, {}, true},
      {"log2", "Log", {}, {}, nullptr, nullptr, {}, true},
      {"logical_and", "And"},
      {"logical_not", "Not"},
      {"logical_or", "Or"},
      {"logical_xor", "Xor"},
      {"lt", "Less"},
      {"maximum", "Max", {}, {}, nullptr, haveElementsOfOutput},
      {"minimum", "Min", {}, {}, nullptr, haveElementsOfOutput},
      {"mul", "Mul", {}, {}, nullptr, haveElementsOfOutput},
      {"neg", "Neg", {}, {}, nullptr, hasElementsOfOutput},
      {"pow", "Pow"},
      {"relu", "Relu", {}, {}, nullptr, hasElementsOfOutput},
      {"sigmoid", "Sigmoid", {}, {}, nullptr, hasElementsOfOutput},
      {"sigmoid_backward", "SigmoidGrad", {}, {}, nullptr, hasElementsOfOutput},
      {"sin", "Sin", {}, {}, nullptr, hasElementsOfOutput},
      {"softplus", "Softplus", {}, {}, aten::hasBetaOne, hasElementsOfOutput},
      {"sqrt", "Sqrt", {}, {}, nullptr, hasElementsOfOutput},
      {"sub", "Sub", {}, {}, aten::isUnscaled, haveElementsOfOutput},
      {"tanh", "Tanh", {}, {}, nullptr, hasElementsOfOutput},
      {"tanh_backward", "TanhGrad", {}, {}, nullptr, hasElementsOfOutput},
      {"threshold_backward", "ReluGrad", {}, {}, aten::isOfZero, hasElementsOfOutput},
      {"where", "Where"},
  };
}

std::vector<Meaning> products() {
  return {
      {"addmm", "Gemm", {1, 2, 0}, {}, aten::isUnscaled, isProductOfMatrices},
      {"baddbmm", "MatMul", {1, 2}, {}, aten::isUnscaled, nullptr, {}, true},
      {"bmm", "MatMul"},
      {"convolution", "Conv", {}, kConvolution, aten::isNotTransposed, aten::convolutionFits},
      {"dot", "MatMul", {}, {}, nullptr, nullptr, {}, true},
      {"linear", "Gemm", {}, {}, nullptr, isProductOfMatrices},
      {"matmul", "MatMul"},
      {"mm", "Gemm", {}, {}, nullptr, isProductOfMatrices},
      {"mv", "MatMul", {}, {}, nullptr, nullptr, {}, true},
  };
}

// Moves, picks and reductions.
std::vector<Meaning> structure() {
  return {
      {"_to_copy", "Cast", {}, {}, nullptr, aten::castFits},
      {"_unsafe_view", "Reshape", {}, {{"size", "shape"}}},
      {"amax", "ReduceMax", {}, kDims, nullptr, nullptr, kDropped},
      {"amin", "ReduceMin", {}, kDims, nullptr, nullptr, kDropped},
      {"cat", "Concat", {}, kDim, nullptr, nullptr, {{"axis", std::int64_t{0}}}},
      {"embedding", "Gather"},
      {"embedding_dense_backward", "GatherGrad", {}, {}, nullptr, aten::embeddingGradientFits},
      {"expand", "Expand", {}, {{"size", "shape"}}},
      {"index_select", "Gather", {}, kDim},
      {"linalg_vector_norm", "ReduceSumSquare", {}, {}, nullptr, nullptr, {}, true},
      {"max", "ReduceMax", {}, kDims, aten::hasOneInput, nullptr, kDropped},
      {"mean", "ReduceMean", {}, kDims, nullptr, nullptr, kDropped},
      {"min", "ReduceMin", {}, kDims, aten::hasOneInput, nullptr, kDropped},
      {"norm", "ReduceSumSquare", {}, {}, nullptr, nullptr, {}, true},
      {"permute", "Transpose", {}, {{"dims", "perm"}}},
      {"reshape", "Reshape"},
      {"sum", "ReduceSum", {}, kDims, nullptr, nullptr, kDropped},
      {"t", "Transpose"},
      {"tril", "Trilu", {}, {{"diagonal", "k"}}, nullptr, nullptr, {{"upper", std::int64_t{0}}}},
      {"triu", "Trilu", {}, {{"diagonal", "k"}}},
      {"view", "Reshape", {}, {{"size", "shape"}}},
  };
}

std::vector<Meaning> layers() {
  return {
      {"_log_softmax", "LogSoftmax", {}, kDim, nullptr, hasRowsOfOutput},
      {"_log_softmax_backward_data", "LogSoftmaxGrad", {}, kDim, nullptr, hasRowsOfOutput},
      {"_safe_softmax", "Softmax", {}, kDim, nullptr, hasRowsOfOutput},
      {"_softmax", "Softmax", {}, kDim, nullptr, hasRowsOfOutput},
      {"_softmax_backward_data", "SoftmaxGrad", {}, kDim, nullptr, hasRowsOfOutput},
      {"avg_pool2d", "AveragePool", {}, kWindow, nullptr, aten::poolingFits},
      {"log_softmax", "LogSoftmax", {}, kDim, nullptr, hasRowsOfOutput},
      {"max_pool2d_with_indices", "MaxPool", {}, kWindow, nullptr, aten::poolingFits},
      {"native_batch_norm",
       "BatchNormalization",
       {},
       kTraining,
       nullptr,
       nullptr,
       {},
       false,
       {2, 0, 1, 3, 4}},
      {"native_batch_norm_backward",
       "BatchNormalizationGrad",
       {0, 1, 2, 5, 6},
       {{"train", "training_mode"}},
       nullptr,
       aten::normGradientFits},
      {"native_dropout", "Dropout", {}, {{"p", "ratio"}}, nullptr, hasElementsOfOutput},
      {"native_dropout_backward", "DropoutGrad", {}, {}, nullptr, hasElementsOfOutput},
      {"native_group_norm", "GroupNormalization", {}, kGroups, nullptr, hasElementsOfOutput},
      {"native_group_norm_backward",
       "GroupNormalizationGrad",
       {0, 1, 4, 2, 3},
       {{"group", "num_groups"}},
       nullptr,
       aten::normGradientFits},
      {"native_layer_norm", "LayerNormalization", {}, kEps, nullptr, aten::layerNormFits},
      {"native_layer_norm_backward",
       "LayerNormalizationGrad",
       {0, 1, 4, 2, 3},
       {},
       nullptr,
       aten::normGradientFits},
      {"softmax", "Softmax", {}, kDim, nullptr, hasRowsOfOutput},
  };
}

std::span<const Meaning> meanings() {
  static const std::vector<Meaning> rows = [] {
    std::vector<Meaning> all;
    for (const auto part : {elementwise, products, structure, layers})
      for (Meaning& meaning : part()) all.push_back(std::move(meaning));
    return all;
  }();
  return rows;
}

}  // namespace

DomainMeanings atenMeanings() { return {"aten", meanings, true}; }

}  // namespace msdbg::watch
