// Gemm: Y = alpha * A' * B' + beta * C.
#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gemm_reference.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

struct GemmAttributes {
  double alpha, beta;
  bool transA, transB;
};

GemmAttributes read(const Attributes& a) {
  return {floatAttribute(a, "alpha", 1), floatAttribute(a, "beta", 1), intAttribute(a, "transA", 0) != 0,
          intAttribute(a, "transB", 0) != 0};
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs("Gemm", inputs, {"A", "B", "C"}, 2));
  MSDBG_TRY(checkRank("Gemm", "A", inputs[0], 2));
  MSDBG_TRY(checkRank("Gemm", "B", inputs[1], 2));
  const GemmAttributes g = read(attributes);
  const Shape &a = inputs[0].shape, &b = inputs[1].shape;
  const std::int64_t left = a[g.transA ? 0 : 1], right = b[g.transB ? 1 : 0];
  if (left != right)
    return inferError("Gemm", "A is " + a.text() + (g.transA ? " (transposed)" : "") + " but B is " +
                                  b.text() + (g.transB ? " (transposed)" : "") + ": " + std::to_string(left) +
                                  " != " + std::to_string(right));
  const Shape out{a[g.transA ? 1 : 0], b[g.transB ? 0 : 1]};
  if (inputs.size() > 2 && broadcastShape(inputs[2].shape, out) != out)
    return inferError("Gemm", describeInput("C", inputs[2]) + ", but a shape that broadcasts to " +
                                  out.text() + " was expected");
  return std::vector<TensorType>{{inputs[0].dtype, out}};
}

Value product(GradientBuilder& b, Value left, bool transA, Value right, bool transB, double alpha) {
  return b.apply1("Gemm", {left, right},
                  {{"alpha", alpha}, {"transA", std::int64_t{transA}}, {"transB", std::int64_t{transB}}});
}

/// With A' = op(A), B' = op(B): dA' = alpha dY B'^T, dB' = alpha A'^T dY; written so that no transpose node
/// is needed.
Gradients gradient(GradientBuilder& b) {
  const GemmAttributes g = read(b.forward().attributes);
  const Value dy = *b.outputGradient(0);
  Gradients gradients(b.forward().inputs.size());
  if (b.wanted(0))
    gradients[0] = g.transA ? product(b, b.input(1), g.transB, dy, true, g.alpha)
                            : product(b, dy, false, b.input(1), !g.transB, g.alpha);
  if (b.wanted(1))
    gradients[1] = g.transB ? product(b, dy, true, b.input(0), g.transA, g.alpha)
                            : product(b, b.input(0), !g.transA, dy, false, g.alpha);
  if (b.wanted(2)) {
    gradients[2] = b.reduceTo(dy, b.input(2).shape());
    if (g.beta != 1) gradients[2] = b.apply1("Mul", {*gradients[2], b.constant(g.beta, dy.dtype())});
  }
  return gradients;
}

template <typename T>
MatrixView<T> view(const Tensor& t, bool transposed) {
  const MatrixView<T> plain{t.data<T>().data(), t.shape()[1], 1};
  return transposed ? plain.transposed() : plain;
}

template <typename T>
void run(const KernelArgs& args) {
  const GemmAttributes g = read(args.node.attributes);
  const Shape& shape = args.outputs[0]->shape();
  const std::int64_t k = args.inputs[0]->shape()[g.transA ? 0 : 1];
  std::vector<double> sums(shape.elements(), 0.0);
  gemmAccumulate(shape[0], shape[1], k, view<T>(*args.inputs[0], g.transA),
                 view<T>(*args.inputs[1], g.transB), sums.data(), shape[1], args.state.threads);
  const Tensor* c = args.inputs.size() > 2 ? args.inputs[2] : nullptr;
  const std::vector<std::int64_t> strides =
      c ? broadcastStrides(c->shape(), shape) : std::vector<std::int64_t>{0, 0};
  const T* bias = c ? c->data<T>().data() : nullptr;
  T* y = args.outputs[0]->data<T>().data();
  parallelFor(shape.elements(), args.state.threads, [&](std::int64_t i) {
    const double offset = bias ? g.beta * bias[i / shape[1] * strides[0] + i % shape[1] * strides[1]] : 0.0;
    y[i] = static_cast<T>(g.alpha * sums[i] + offset);
  });
}

Status reference(const KernelArgs& args) {
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) { run<decltype(zero)>(args); });
  return Ok{};
}

std::int64_t flops(const Graph& graph, const Node& node) {
  const Shape& a = graph.tensor(node.inputs[0]).shape;
  const std::int64_t k = a[read(node.attributes).transA ? 0 : 1];
  return 2 * graph.tensor(node.outputs[0]).shape.elements() * k;
}

}  // namespace

OpDef gemmOp() {
  return {.name = "Gemm",
          .doc =
              "Y = alpha * A' * B' + beta * C; A' and B' are A and B, transposed where asked; C broadcasts "
              "to Y. ONNX Gemm-13",
          .minInputs = 2,
          .maxInputs = 3,
          .inputNames = {"A", "B", "C"},
          .outputNames = {"Y"},
          .attributes = {{"alpha", "float", "1", "factor of the product"},
                         {"beta", "float", "1", "factor of C"},
                         {"transA", "int", "0", "1: A is stored [K, M]"},
                         {"transB", "int", "0", "1: B is stored [N, K]"}},
          .infer = infer,
          .gradient = gradient,
          .reference = reference,
          .flops = flops};
}

}  // namespace msdbg::core
