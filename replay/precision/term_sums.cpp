#include "replay/precision/term_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "replay/precision/float64_node.h"

namespace msdbg::replay {

using core::DType;
using core::Result;
using core::Tensor;

namespace {

// Linear in each of their inputs, with factors that have no sign of their own: sums of |terms| come from
// |inputs|.
constexpr auto kLinear = std::to_array<std::string_view>({"Abs",
                                                          "AbsGrad",
                                                          "AccumulateGradient",
                                                          "Add",
                                                          "Allreduce",
                                                          "AveragePool",
                                                          "AveragePoolGrad",
                                                          "Cast",
                                                          "ClipGrad",
                                                          "Concat",
                                                          "Conv",
                                                          "ConvGradInput",
                                                          "ConvGradWeight",
                                                          "Div",
                                                          "Dropout",
                                                          "DropoutGrad",
                                                          "Expand",
                                                          "Flatten",
                                                          "Gather",
                                                          "GatherGrad",
                                                          "Gemm",
                                                          "GlobalAveragePool",
                                                          "HardSigmoidGrad",
                                                          "Identity",
                                                          "LeakyReluGrad",
                                                          "MatMul",
                                                          "MaxPoolGrad",
                                                          "Mul",
                                                          "Neg",
                                                          "Pad",
                                                          "PadGrad",
                                                          "ReduceMaxGrad",
                                                          "ReduceMean",
                                                          "ReduceMeanGrad",
                                                          "ReduceMinGrad",
                                                          "ReduceSum",
                                                          "ReduceSumGrad",
                                                          "ReduceSumSquare",
                                                          "ReluGrad",
                                                          "Reshape",
                                                          "Slice",
                                                          "SliceGrad",
                                                          "Split",
                                                          "Sqrt",
                                                          "Squeeze",
                                                          "StopGradient",
                                                          "Sub",
                                                          "Transpose",
                                                          "Trilu",
                                                          "Unsqueeze",
                                                          "Where"});

bool isLinear(const core::Node& node) { return std::ranges::find(kLinear, node.opType) != kLinear.end(); }

void makeAbsolute(Tensor& tensor) {
  for (double& each : tensor.data<double>()) each = std::abs(each);
}

// a - b becomes |a| + |b|, alpha * A B + beta * C likewise.
void makeAddUp(core::Node& node, std::vector<Tensor>& inputs) {
  if (node.opType == "Sub")
    for (double& each : inputs[1].data<double>()) each = -each;
  for (const std::string_view factor : {"alpha", "beta"})
    if (const auto found = node.attributes.find(factor); found != node.attributes.end())
      if (double* value = std::get_if<double>(&found->second)) *value = std::abs(*value);
}

// Winograd's and other fast convolutions transform tiles of a plane: the rounding of large elements reaches
// small ones beside them, even such that have no terms at all. Measured with oneDNN 2.6 on AVX-512: up to 28
// units without the plane's largest (alexnet, batch 4), 10^37 without either.
void spread(const core::Node& node, Tensor& sum) {
  if (!node.opType.starts_with("Conv") || sum.shape().rank() < 2 || sum.elements() == 0) return;
  const auto s = sum.data<double>();
  const auto last = sum.shape().rank() - 1;
  const auto plane = static_cast<std::size_t>(sum.shape()[last] * sum.shape()[last - 1]);
  double squares = 0;
  for (const double each : s)
    if (std::isfinite(each)) squares += each * each;
  const double typical = std::sqrt(squares / static_cast<double>(s.size()));
  for (std::size_t at = 0; at < s.size(); at += plane) {
    const std::span<double> tile = s.subspan(at, plane);
    double largest = 0;  // of samples that are not finite the others know nothing
    for (const double each : tile)
      if (std::isfinite(each)) largest = std::max(largest, each);
    for (double& each : tile) each += largest + typical;
  }
}

Result<std::vector<Tensor>> ofLinear(const core::Graph& graph, const core::Node& node,
                                     std::span<const Tensor> inputs, const core::RunState& state) {
  std::vector<Tensor> absolute;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool isTerm = inputs[i].dtype() == DType::Float64 && !onlyChooses(node, i);
    absolute.push_back(isTerm ? inputs[i].clone() : inputs[i]);
    if (isTerm) makeAbsolute(absolute.back());
  }
  core::Node adding = node;
  makeAddUp(adding, absolute);
  MSDBG_ASSIGN(std::vector<Tensor> sums, runInFloat64(graph, adding, absolute, state));
  for (Tensor& each : sums) {
    if (each.dtype() != DType::Float64) {
      each = Tensor();
      continue;
    }
    makeAbsolute(each);
    spread(node, each);
  }
  return sums;
}

constexpr double kMove = 1.0 / (1 << 24);  // half of float32's eps: far above the rounding of float64

// +1 or -1, the same for the same place: the low bit of splitmix64.
double signAt(std::uint64_t place) {
  std::uint64_t x = (place + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return ((x ^ (x >> 31)) & 1) != 0 ? 1.0 : -1.0;
}

Tensor moved(const Tensor& input, std::size_t which) {
  Tensor other = input.clone();
  std::uint64_t place = static_cast<std::uint64_t>(which) << 48;
  for (double& each : other.data<double>()) each += each * kMove * signAt(place++);
  return other;
}

void addChange(Tensor& sum, const Tensor& before, const Tensor& after) {
  const auto s = sum.data<double>();
  const auto a = before.data<double>(), b = after.data<double>();
  for (std::size_t i = 0; i < s.size(); ++i)
    if (const double change = std::abs(b[i] - a[i]) / kMove; std::isfinite(change)) s[i] += change;
}

// What formulas add besides their inputs, element by element of output 0: where x and dY are of its shape.
void addHidden(const core::Node& node, std::span<const Tensor> inputs, Tensor& sum, const Tensor& output) {
  const std::string& op = node.opType;
  const auto s = sum.data<double>();
  if (op == "Gelu" || op == "HardSwish") {  // x * (1 + erf(…)) / 2, x * (x / 6 + 1/2)
    const auto x = inputs[0].data<double>();
    for (std::size_t i = 0; i < s.size(); ++i) s[i] += std::abs(x[i]);
  } else if (op == "GeluGrad" || op == "HardSwishGrad") {
    const auto dy = inputs[0].data<double>();
    for (std::size_t i = 0; i < s.size(); ++i) s[i] += std::abs(dy[i]);
  } else if (op == "LogSoftmax" || op == "SoftmaxCrossEntropyLoss" || op == "Elu" || op == "HardSigmoid" ||
             op == "Softplus") {
    for (double& each : s) each += 1;  // log(1 + …), exp(x) - 1, x / 5 + 1/2
  } else if (op == "SoftmaxCrossEntropyLossGrad" && inputs[0].elements() > 0) {
    // (p - 1) * scale at the label, whose sign is another than that of p * scale elsewhere.
    const auto rows = static_cast<double>(inputs[0].elements() / inputs[0].shape()[1]);
    const double scale = inputs[2].at(0) / rows;
    const auto y = output.data<double>();
    for (std::size_t i = 0; i < s.size(); ++i)
      if (y[i] == 0 || (y[i] < 0) != (scale < 0)) s[i] += 2 * std::abs(scale);
  }
}

// The moves of an element's inputs may happen to cancel: then others of the tensor say how large they are.
void addFloor(Tensor& sum, const Tensor& output) {
  const auto s = sum.data<double>();
  const auto y = output.data<double>();
  double all = 0;
  for (const double each : s) all += each;
  const double mean = s.empty() ? 0 : all / static_cast<double>(s.size());
  for (std::size_t i = 0; i < s.size(); ++i) s[i] += mean + (std::isfinite(y[i]) ? std::abs(y[i]) : 0);
}

Result<std::vector<Tensor>> byCondition(const core::Graph& graph, const core::Node& node,
                                        std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                        const core::RunState& state) {
  std::vector<Tensor> sums, given(inputs.begin(), inputs.end());
  for (const Tensor& each : outputs)
    sums.push_back(each.dtype() == DType::Float64 ? Tensor::zeros(DType::Float64, each.shape()) : Tensor());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != DType::Float64) continue;
    given[i] = moved(inputs[i], i);
    MSDBG_ASSIGN(const std::vector<Tensor> after, runInFloat64(graph, node, given, state));
    given[i] = inputs[i];
    for (std::size_t slot = 0; slot < sums.size(); ++slot)
      if (sums[slot].valid()) addChange(sums[slot], outputs[slot], after[slot]);
  }
  for (std::size_t slot = 0; slot < sums.size(); ++slot) {
    if (!sums[slot].valid()) continue;
    addFloor(sums[slot], outputs[slot]);
    if (slot == 0 || node.opType == "SoftmaxCrossEntropyLoss")
      addHidden(node, inputs, sums[slot], outputs[slot]);
  }
  return sums;
}

}  // namespace

Result<std::vector<Tensor>> termSums(const core::Graph& graph, const core::Node& node,
                                     std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                     const core::RunState& state) {
  return isLinear(node) ? ofLinear(graph, node, inputs, state)
                        : byCondition(graph, node, inputs, outputs, state);
}

}  // namespace msdbg::replay
