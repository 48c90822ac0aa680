// Element-wise operators: the shapes are worked out once, the tiles of tile_kernels.h do the rest.
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/cpu/tile_op.h"
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

/// An operand of a part: where the element lies that the result's element `at` takes, in row `row` and column
/// `column`.
struct Operand {
  const float* data;
  bool along;  // data is at the part's first element, else at the tensor's
  std::int64_t inner;
  const Ints& strides;

  const float* at(const BroadcastPlan& p, std::int64_t fromBegin, std::int64_t row,
                  std::int64_t column) const {
    return along ? data + fromBegin : data + stridedOffset(row, p.dims, strides) + column * inner;
  }
};

/// A part of the result, row by row.
void combinePart(const BroadcastPlan& p, BinaryTile tile, const TilePart& part, const TilePorts& ports) {
  const Operand a{part.in[0], ports.along[0], p.innerA, p.stridesA},
      b{part.in[1], ports.along[1], p.innerB, p.stridesB};
  for (std::int64_t at = part.begin; at < part.end;) {
    const std::int64_t row = at / p.inner, column = at % p.inner, done = at - part.begin,
                       count = std::min(p.inner - column, part.end - at);
    tile(a.at(p, done, row, column), p.innerA, b.at(p, done, row, column), p.innerB, part.out + done, count);
    at += count;
  }
}

TileAnswer binary(const CompileRequest& r, BinaryTile tile) {
  if (r.output().dtype != DType::Float32) return noTiles("integers are left to the reference");
  const Shape &a = r.input(0).shape, &b = r.input(1).shape, &y = r.output().shape;
  const TilePorts ports{.along = {a == y, b == y}};
  return {TileOp{ports, [plan = planBroadcast(a, b, y), tile,
                         ports](const TilePart& part) { combinePart(plan, tile, part, ports); }},
          ""};
}

TileAnswer unary(const CompileRequest&, UnaryTile tile) {
  return {
      TileOp{{.along = {true}}, [tile](const TilePart& part) { tile(part.in[0], part.out, part.count()); }},
      ""};
}

}  // namespace

TileAnswer addTiles(const CompileRequest& r) { return binary(r, addTile); }
TileAnswer subTiles(const CompileRequest& r) { return binary(r, subTile); }
TileAnswer mulTiles(const CompileRequest& r) { return binary(r, mulTile); }
TileAnswer divTiles(const CompileRequest& r) { return binary(r, divTile); }
TileAnswer reluGradTiles(const CompileRequest& r) { return binary(r, reluGradTile); }        // dY, Y
TileAnswer sigmoidGradTiles(const CompileRequest& r) { return binary(r, sigmoidGradTile); }  // dY, Y
TileAnswer tanhGradTiles(const CompileRequest& r) { return binary(r, tanhGradTile); }        // dY, Y
TileAnswer reluTiles(const CompileRequest& r) { return unary(r, reluTile); }
TileAnswer sigmoidTiles(const CompileRequest& r) { return unary(r, sigmoidTile); }
TileAnswer expTiles(const CompileRequest& r) { return unary(r, expTile); }
TileAnswer logTiles(const CompileRequest& r) { return unary(r, logTile); }
TileAnswer sqrtTiles(const CompileRequest& r) { return unary(r, sqrtTile); }
TileAnswer erfTiles(const CompileRequest& r) { return unary(r, erfTile); }
TileAnswer geluTiles(const CompileRequest& r) {
  return geluByTanh(r.node.attributes) ? noTiles("only the form by erf is fast") : unary(r, geluTile);
}
TileAnswer geluGradTiles(const CompileRequest& r) {  // dY, X
  return geluByTanh(r.node.attributes) ? noTiles("only the form by erf is fast") : binary(r, geluGradTile);
}
TileAnswer tanhTiles(const CompileRequest& r) { return unary(r, tanhTile); }

}  // namespace msdbg::core::cpu
