// LayerNormalization and its gradient, a row at a time. dScale and dB are summed in double over fixed blocks
// of rows, and these in order: the bits do not depend on the thread count.
#include "core_engine/ops/layer_norm.h"

#include <cmath>

#include "core_engine/cpu/norm_fallback.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/cpu/tile_op.h"

namespace msdbg::core::cpu {
namespace {

constexpr std::int64_t kBlockRows = 64;

void runRow(const float* x, const float* scale, const float* shift, double epsilon, std::int64_t n, float* y,
            float& meanOut, float& inverseOut) {
  const auto length = static_cast<double>(n);
  const double mean = sumTile(x, n) / length;
  const double inverse = 1 / std::sqrt(squaresTile(x, mean, n) / length + epsilon);
  meanOut = static_cast<float>(mean);
  inverseOut = static_cast<float>(inverse);
  normalRowTile(x, meanOut, inverseOut, scale, shift, y, n);
}

/// The gradient of X for one row; `scaled` is work memory for a row.
void runRowGrad(const float* dy, const float* x, const float* scale, float mean, float inverse,
                std::int64_t n, float* scaled, float* dx) {
  mulTile(dy, 1, scale, 1, scaled, n);
  const auto length = static_cast<double>(n);
  const double factor = static_cast<double>(inverse);
  const double sum = sumTile(scaled, n),
               product = centredDotTile(scaled, x, static_cast<double>(mean), n) * factor;
  normalGradTile(
      scaled, x,
      {inverse, mean, static_cast<float>(sum / length), static_cast<float>(product * factor / length)}, dx,
      n);
}

/// Column sums of a block of rows: n of dY * xhat, then n of dY.
void sumBlock(const KernelArgs& args, std::int64_t first, std::int64_t last, std::int64_t n, double* sums) {
  const float *dy = args.inputs[0]->data<float>().data(), *x = args.inputs[1]->data<float>().data(),
              *mean = args.inputs[3]->data<float>().data(), *inverse = args.inputs[4]->data<float>().data();
  std::fill_n(sums, 2 * n, 0.0);
  for (std::int64_t row = first; row < last; ++row)
    addNormalRowTile(dy + row * n, x + row * n, static_cast<double>(mean[row]),
                     static_cast<double>(inverse[row]), sums, sums + n, n);
}

void runGrad(const KernelArgs& args, const NormalRows& r, int threads) {
  const float *dy = args.inputs[0]->data<float>().data(), *x = args.inputs[1]->data<float>().data(),
              *scale = args.inputs[2]->data<float>().data(), *mean = args.inputs[3]->data<float>().data(),
              *inverse = args.inputs[4]->data<float>().data();
  float* dx = args.outputs[0]->data<float>().data();
  const std::int64_t n = r.length, blocks = (r.rows + kBlockRows - 1) / kBlockRows;
  std::vector<double> sums(static_cast<std::size_t>(blocks * 2 * n));
  parallelRanges(blocks, 1, threads, r.rows * n, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> scaled(static_cast<std::size_t>(n));
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kBlockRows, last = std::min(first + kBlockRows, r.rows);
      for (std::int64_t row = first; row < last; ++row)
        runRowGrad(dy + row * n, x + row * n, scale, mean[row], inverse[row], n, scaled.data(), dx + row * n);
      sumBlock(args, first, last, n, sums.data() + block * 2 * n);
    }
  });
  float *dScale = args.outputs[1]->data<float>().data(), *dB = args.outputs[2]->data<float>().data();
  for (std::int64_t j = 0; j < n; ++j) {
    double product = 0, sum = 0;
    for (std::int64_t block = 0; block < blocks; ++block) {
      product += sums[static_cast<std::size_t>(block * 2 * n + j)];
      sum += sums[static_cast<std::size_t>(block * 2 * n + n + j)];
    }
    dScale[j] = static_cast<float>(product);
    dB[j] = static_cast<float>(sum);
  }
}

}  // namespace

TileAnswer layerNormTiles(const CompileRequest& r) {
  const auto rows = normalRows(r.node.opType, r.input(0).shape, r.node.attributes);
  if (!rows) return noTiles(rows.error().message());
  const double epsilon = floatAttribute(r.node.attributes, "epsilon", 1e-5);
  const std::vector<float> zeros(r.hasInput(2) ? 0 : static_cast<std::size_t>(rows->length), 0.0f);
  return {TileOp{{rows->length, {true, false, false}},
                 [n = rows->length, epsilon, zeros](const TilePart& part) {
                   const float* shift = zeros.empty() ? part.in[2] : zeros.data();
                   float *mean = part.args.outputs[1]->data<float>().data() + part.begin / n,
                         *inverse = part.args.outputs[2]->data<float>().data() + part.begin / n;
                   for (std::int64_t row = 0; row < part.count() / n; ++row)
                     runRow(part.in[0] + row * n, part.in[1], shift, epsilon, n, part.out + row * n,
                            mean[row], inverse[row]);
                 }},
          ""};
}

Backend::Answer layerNormGradKernel(const CompileRequest& r) {
  const auto rows = normalRows(r.node.opType, r.input(1).shape, r.node.attributes);
  if (!rows) return decline(rows.error().message());
  const ReferenceFn fallback = findOp(r.node.opType)->reference;
  return functionKernel(r, [n = *rows, fallback, threads = r.threads](const KernelArgs& args) -> Status {
    if (!hasFiniteDeviations(args)) return fallback(args);
    runGrad(args, n, threads);
    return Ok{};
  });
}

}  // namespace msdbg::core::cpu
