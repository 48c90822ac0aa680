// SoftmaxCrossEntropyLoss and its gradient for logits [N, C]: rows are shared among threads, the loss is
// summed in row order by one.
#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/softmax_line.h"
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/ops/labels.h"

namespace msdbg::core::cpu {
namespace {

/// "" when classes are the innermost axis, so that rows are contiguous.
std::string objection(const Shape& logits) {
  return logits.rank() == 2 ? "" : "logits are " + logits.text() + "; the fast kernel takes [rows, classes]";
}

float meanLoss(const float* logProb, std::span<const std::int64_t> labels, std::int64_t classes) {
  double sum = 0;
  for (std::size_t row = 0; row < labels.size(); ++row)
    sum -= static_cast<double>(logProb[static_cast<std::int64_t>(row) * classes + labels[row]]);
  return static_cast<float>(sum / static_cast<double>(labels.size()));
}

/// exp(y) - 1 at the label is computed as such: near 0, where training ends up, the difference would cancel.
void gradientRow(const float* y, std::int64_t label, float scale, float* dx, std::int64_t classes) {
  scaledExpTile(y, scale, dx, classes);
  dx[label] = vecExpMinusOne(y[label]) * scale;
}

}  // namespace

Backend::Answer crossEntropyKernel(const CompileRequest& r) {
  const Shape shape = r.input(0).shape;
  if (std::string why = objection(shape); !why.empty()) return decline(std::move(why));
  return functionKernel(
      r, [rows = shape[0], classes = shape[1], threads = r.threads](const KernelArgs& args) -> Status {
        MSDBG_TRY(checkLabels(args.node, *args.inputs[1], classes));
        const float* x = args.inputs[0]->data<float>().data();
        float* y = args.outputs[1]->data<float>().data();
        parallelRanges(rows, 1, threads, rows * classes, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row)
            logSoftmaxLine(x + row * classes, y + row * classes, classes);
        });
        args.outputs[0]->data<float>()[0] = meanLoss(y, args.inputs[1]->data<std::int64_t>(), classes);
        return Ok{};
      });
}

Backend::Answer crossEntropyGradKernel(const CompileRequest& r) {
  const Shape shape = r.input(0).shape;
  if (std::string why = objection(shape); !why.empty()) return decline(std::move(why));
  return functionKernel(
      r, [rows = shape[0], classes = shape[1], threads = r.threads](const KernelArgs& args) -> Status {
        MSDBG_TRY(checkLabels(args.node, *args.inputs[1], classes));
        const float scale = static_cast<float>(args.inputs[2]->at(0) / static_cast<double>(rows));
        const float* y = args.inputs[0]->data<float>().data();
        const auto labels = args.inputs[1]->data<std::int64_t>();
        float* dx = args.outputs[0]->data<float>().data();
        parallelRanges(rows, 1, threads, rows * classes, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row)
            gradientRow(y + row * classes, labels[static_cast<std::size_t>(row)], scale, dx + row * classes,
                        classes);
        });
        return Ok{};
      });
}

}  // namespace msdbg::core::cpu
