// MatMul: numpy.matmul. Dimensions before the last two are batches and broadcast; a vector becomes a row
// (left) or a column (right) and loses that dimension again in the result.
#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gemm_reference.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

/// Both operands with at least two dimensions, and the product's shape in these terms.
struct Plan {
  Shape a, b, batches;
  std::int64_t m, n, k;
  bool vectorA, vectorB;

  Shape product() const {
    Ints dims = intsOf(batches);
    dims.insert(dims.end(), {m, n});
    return Shape(std::move(dims));
  }
  Shape result() const {
    Ints dims = intsOf(batches);
    if (!vectorA) dims.push_back(m);
    if (!vectorB) dims.push_back(n);
    return Shape(std::move(dims));
  }
};

Shape leading(const Shape& shape) {
  const auto dims = shape.dims();
  return Shape(Ints(dims.begin(), dims.end() - 2));
}

Result<Plan> makePlan(const Shape& givenA, const Shape& givenB) {
  if (givenA.rank() == 0 || givenB.rank() == 0)
    return inferError(
        "MatMul", "A is " + givenA.text() + " and B is " + givenB.text() + ", but neither may be a scalar");
  Plan p{givenA, givenB, {}, 0, 0, 0, givenA.rank() == 1, givenB.rank() == 1};
  if (p.vectorA) p.a = Shape{1, givenA[0]};
  if (p.vectorB) p.b = Shape{givenB[0], 1};
  p.m = p.a[p.a.rank() - 2], p.k = p.a[p.a.rank() - 1], p.n = p.b[p.b.rank() - 1];
  const std::int64_t right = p.b[p.b.rank() - 2];
  const std::optional<Shape> batches = broadcastShape(leading(p.a), leading(p.b));
  if (p.k == right && batches) {
    p.batches = *batches;
    return p;
  }
  const std::string what = "A is " + givenA.text() + " but B is " + givenB.text() + ": ";
  return inferError("MatMul", p.k != right ? what + std::to_string(p.k) + " != " + std::to_string(right)
                                           : what + "their batch dimensions do not broadcast");
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  MSDBG_TRY(checkFloatingInputs("MatMul", inputs, {"A", "B"}));
  MSDBG_ASSIGN(const Plan plan, makePlan(inputs[0].shape, inputs[1].shape));
  return std::vector<TensorType>{{inputs[0].dtype, plan.result()}};
}

Value reshaped(GradientBuilder& b, Value v, const Shape& shape) {
  return v.shape() == shape ? v : b.apply1("Reshape", {v}, with({}, "shape", shape));
}

Value swapped(GradientBuilder& b, Value v) {
  Ints perm(v.shape().rank());
  for (std::size_t d = 0; d < perm.size(); ++d) perm[d] = static_cast<std::int64_t>(d);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return b.apply1("Transpose", {v}, {{"perm", perm}});
}

/// dA = dY B^T, dB = A^T dY on the operands as matrices, summed over broadcast batches.
Gradients gradient(GradientBuilder& b) {
  const Shape shapeA = b.input(0).shape(), shapeB = b.input(1).shape();
  const Plan p = makePlan(shapeA, shapeB).value();
  Gradients gradients(2);
  if (!b.wanted(0) && !b.wanted(1)) return gradients;
  const Value dy = reshaped(b, *b.outputGradient(0), p.product());
  if (b.wanted(0)) {
    const Value da = b.apply1("MatMul", {dy, swapped(b, reshaped(b, b.input(1), p.b))});
    gradients[0] = reshaped(b, b.reduceTo(da, p.a), shapeA);
  }
  if (b.wanted(1)) {
    const Value db = b.apply1("MatMul", {swapped(b, reshaped(b, b.input(0), p.a)), dy});
    gradients[1] = reshaped(b, b.reduceTo(db, p.b), shapeB);
  }
  return gradients;
}

/// One product per batch; several batches are shared out among the threads, a single one is blocked among
/// them.
template <typename T>
void run(const KernelArgs& args) {
  const Plan p = makePlan(args.inputs[0]->shape(), args.inputs[1]->shape()).value();
  const std::int64_t batches = p.batches.elements(), threads = args.state.threads;
  const Ints stridesA = broadcastStrides(leading(p.a), p.batches),
             stridesB = broadcastStrides(leading(p.b), p.batches);
  parallelFor(batches, args.state.threads, 2, [&](std::int64_t batch) {
    const T* a =
        args.inputs[0]->data<T>().data() + stridedOffset(batch, p.batches.dims(), stridesA) * p.m * p.k;
    const T* b =
        args.inputs[1]->data<T>().data() + stridedOffset(batch, p.batches.dims(), stridesB) * p.k * p.n;
    std::vector<double> sums(p.m * p.n, 0.0);
    gemmAccumulate<T>(p.m, p.n, p.k, {a, p.k, 1}, {b, p.n, 1}, sums.data(), p.n,
                      batches > 1 ? 1 : static_cast<int>(threads));
    T* y = args.outputs[0]->data<T>().data() + batch * p.m * p.n;
    for (std::int64_t i = 0; i < p.m * p.n; ++i) y[i] = static_cast<T>(sums[i]);
  });
}

Status reference(const KernelArgs& args) {
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) { run<decltype(zero)>(args); });
  return Ok{};
}

std::int64_t flops(const Graph& graph, const Node& node) {
  const Shape& a = graph.tensor(node.inputs[0]).shape;
  return 2 * graph.tensor(node.outputs[0]).shape.elements() * a[a.rank() - 1];
}

}  // namespace

OpDef matMulOp() {
  return {
      .name = "MatMul",
      .doc =
          "Y = A * B as numpy.matmul: matrices in the last two dimensions, batches broadcast. ONNX MatMul-13",
      .minInputs = 2,
      .maxInputs = 2,
      .inputNames = {"A", "B"},
      .outputNames = {"Y"},
      .infer = infer,
      .gradient = gradient,
      .reference = reference,
      .flops = flops};
}

}  // namespace msdbg::core
