// Element-wise operators: the shapes are worked out once, the tiles of tile_kernels.h do the rest.
#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/gelu.h"

namespace msdbg::core::cpu {
namespace {

using Ints = std::vector<std::int64_t>;

/// A broadcast as rows of `inner` elements; in a row each operand either runs along (stride 1) or stays
/// (stride 0).
struct BroadcastPlan {
  Ints dims, stridesA, stridesB;  // of the rows, outermost first
  std::int64_t inner = 1, innerA = 1, innerB = 1;
};

/// Drops dimensions of 1 and joins neighbours that both operands walk through alike.
BroadcastPlan planBroadcast(const Shape& a, const Shape& b, const Shape& y) {
  const Ints stridesA = broadcastStrides(a, y), stridesB = broadcastStrides(b, y);
  BroadcastPlan p;
  for (std::size_t d = 0; d < y.rank(); ++d) {
    if (y[d] == 1) continue;
    const bool joins =
        !p.dims.empty() && p.stridesA.back() == stridesA[d] * y[d] && p.stridesB.back() == stridesB[d] * y[d];
    if (joins) {
      p.dims.back() *= y[d];
      p.stridesA.back() = stridesA[d];
      p.stridesB.back() = stridesB[d];
    } else {
      p.dims.push_back(y[d]);
      p.stridesA.push_back(stridesA[d]);
      p.stridesB.push_back(stridesB[d]);
    }
  }
  if (p.dims.empty()) return p;
  p.inner = p.dims.back(), p.innerA = p.stridesA.back(), p.innerB = p.stridesB.back();
  p.dims.pop_back(), p.stridesA.pop_back(), p.stridesB.pop_back();
  return p;
}

/// Elements [begin, end) of the result, row by row.
void combineRange(const BroadcastPlan& p, BinaryTile tile, const float* a, const float* b, float* y,
                  std::int64_t begin, std::int64_t end) {
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t row = at / p.inner, column = at % p.inner,
                       count = std::min(p.inner - column, end - at);
    const float* rowA = a + stridedOffset(row, p.dims, p.stridesA) + column * p.innerA;
    const float* rowB = b + stridedOffset(row, p.dims, p.stridesB) + column * p.innerB;
    tile(rowA, p.innerA, rowB, p.innerB, y + at, count);
    at += count;
  }
}

Backend::Answer binary(const CompileRequest& r, BinaryTile tile) {
  if (r.output().dtype != DType::Float32) return decline("integers are left to the reference");
  const BroadcastPlan plan = planBroadcast(r.input(0).shape, r.input(1).shape, r.output().shape);
  return functionKernel(r, [plan, tile, threads = r.threads](const KernelArgs& args) -> Status {
    const float* a = args.inputs[0]->data<float>().data();
    const float* b = args.inputs[1]->data<float>().data();
    float* y = args.outputs[0]->data<float>().data();
    parallelElements(args.outputs[0]->elements(), threads, [&](std::int64_t begin, std::int64_t end) {
      combineRange(plan, tile, a, b, y, begin, end);
    });
    return Ok{};
  });
}

Backend::Answer unary(const CompileRequest& r, UnaryTile tile) {
  return functionKernel(r, [tile, threads = r.threads](const KernelArgs& args) -> Status {
    const float* x = args.inputs[0]->data<float>().data();
    float* y = args.outputs[0]->data<float>().data();
    parallelElements(args.outputs[0]->elements(), threads,
                     [&](std::int64_t begin, std::int64_t end) { tile(x + begin, y + begin, end - begin); });
    return Ok{};
  });
}

}  // namespace

Backend::Answer addKernel(const CompileRequest& r) { return binary(r, addTile); }
Backend::Answer subKernel(const CompileRequest& r) { return binary(r, subTile); }
Backend::Answer mulKernel(const CompileRequest& r) { return binary(r, mulTile); }
Backend::Answer divKernel(const CompileRequest& r) { return binary(r, divTile); }
Backend::Answer reluGradKernel(const CompileRequest& r) { return binary(r, reluGradTile); }        // dY, Y
Backend::Answer sigmoidGradKernel(const CompileRequest& r) { return binary(r, sigmoidGradTile); }  // dY, Y
Backend::Answer tanhGradKernel(const CompileRequest& r) { return binary(r, tanhGradTile); }        // dY, Y
Backend::Answer reluKernel(const CompileRequest& r) { return unary(r, reluTile); }
Backend::Answer sigmoidKernel(const CompileRequest& r) { return unary(r, sigmoidTile); }
Backend::Answer expKernel(const CompileRequest& r) { return unary(r, expTile); }
Backend::Answer logKernel(const CompileRequest& r) { return unary(r, logTile); }
Backend::Answer sqrtKernel(const CompileRequest& r) { return unary(r, sqrtTile); }
Backend::Answer erfKernel(const CompileRequest& r) { return unary(r, erfTile); }
Backend::Answer geluKernel(const CompileRequest& r) {
  return geluByTanh(r.node.attributes) ? decline("only the form by erf is fast") : unary(r, geluTile);
}
Backend::Answer geluGradKernel(const CompileRequest& r) {  // dY, X
  return geluByTanh(r.node.attributes) ? decline("only the form by erf is fast") : binary(r, geluGradTile);
}
Backend::Answer tanhKernel(const CompileRequest& r) { return unary(r, tanhTile); }

}  // namespace msdbg::core::cpu
