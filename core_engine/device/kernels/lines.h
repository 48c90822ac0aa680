// What works along rows: Softmax and LogSoftmax with their gradients, LayerNormalization, cross-entropy. A row is a
// group's of 16 threads. The order of every sum is the CPU's (core_engine/cpu/softmax.cpp, layer_norm.cpp,
// cross_entropy.cpp).
#pragma once

#include "core_engine/device/kernels/group_sums.h"
#include "core_engine/device/kernels/parameters.h"

namespace msdbg::core::device {

constexpr std::int64_t kNormBlockRows = 64;  // rows whose column sums are formed together (layer_norm.cpp)

MSDBG_KERNEL(softmax, LineParameters) {
  for (std::int64_t row = globalGroup(); row < p.rows; row += allGroups()) {
    const float* x = p.first + row * p.length;
    float* y = p.y + row * p.length;
    const float largest = largestOf(x, p.length);
    for (std::int64_t i = laneOfGroup(); i < p.length; i += kGroup) y[i] = vecExp(x[i] - largest);
    // A lane sums what it wrote itself.
    const float sum =
        static_cast<float>(sumInLanes(p.length, [y](std::int64_t i) { return static_cast<double>(y[i]); }));
    for (std::int64_t i = laneOfGroup(); i < p.length; i += kGroup) y[i] = y[i] / sum;
  }
}

MSDBG_KERNEL(softmax_grad, LineParameters) {
  for (std::int64_t row = globalGroup(); row < p.rows; row += allGroups()) {
    const float *dy = p.first + row * p.length, *y = p.second + row * p.length;
    float* dx = p.y + row * p.length;
    const float dot = static_cast<float>(sumInLanes(
        p.length, [=](std::int64_t i) { return static_cast<double>(dy[i]) * static_cast<double>(y[i]); }));
    for (std::int64_t i = laneOfGroup(); i < p.length; i += kGroup) dx[i] = (dy[i] - dot) * y[i];
  }
}

/// y = x - log(sum(exp(x))): core_engine/cpu/softmax.cpp, logSoftmaxLine().
MSDBG_DEVICE void logSoftmaxRow(const float* x, float* y, std::int64_t n) {
  const float largest = largestOf(x, n);
  const double sum =
      sumInLanes(n, [=](std::int64_t i) { return static_cast<double>(vecExp(x[i] - largest)); });
  const float rounded = static_cast<float>(sum);
  const float logSum = vecLog(rounded) + static_cast<float>((sum - static_cast<double>(rounded)) / sum);
  for (std::int64_t i = laneOfGroup(); i < n; i += kGroup) y[i] = (x[i] - largest) - logSum;
}
MSDBG_KERNEL(log_softmax, LineParameters) {
  for (std::int64_t row = globalGroup(); row < p.rows; row += allGroups())
    logSoftmaxRow(p.first + row * p.length, p.y + row * p.length, p.length);
}
MSDBG_KERNEL(log_softmax_grad, LineParameters) {
  for (std::int64_t row = globalGroup(); row < p.rows; row += allGroups()) {
    const float *dy = p.first + row * p.length, *y = p.second + row * p.length;
    float* dx = p.y + row * p.length;
    const float sum =
        static_cast<float>(sumInLanes(p.length, [dy](std::int64_t i) { return static_cast<double>(dy[i]); }));
    for (std::int64_t i = laneOfGroup(); i < p.length; i += kGroup) dx[i] = dy[i] - vecExp(y[i]) * sum;
  }
}

MSDBG_KERNEL(layer_norm, LayerNormParameters) {
  for (std::int64_t row = globalGroup(); row < p.rows; row += allGroups()) {
    const float* x = p.x + row * p.length;
    const auto length = static_cast<double>(p.length);
    const double mean =
        sumInLanes(p.length, [x](std::int64_t i) { return static_cast<double>(x[i]); }) / length;
    const double squares = sumWithTail(p.length, [=](std::int64_t i) {
      const double v = static_cast<double>(x[i]) - mean;
      return v * v;
    });
    const float meanOut = static_cast<float>(mean),
                inverse = static_cast<float>(1 / std::sqrt(squares / length + p.epsilon));
    if (laneOfGroup() == 0) p.mean[row] = meanOut, p.inverse[row] = inverse;
    for (std::int64_t i = laneOfGroup(); i < p.length; i += kGroup)
      p.y[row * p.length + i] = (x[i] - meanOut) * inverse * p.scale[i] + (p.shift ? p.shift[i] : 0.0f);
  }
}

MSDBG_KERNEL(layer_norm_grad, LayerNormGradParameters) {
  for (std::int64_t row = globalGroup(); row < p.rows; row += allGroups()) {
    const float *dy = p.dy + row * p.length, *x = p.x + row * p.length, *scale = p.scale;
    const float mean = p.mean[row], inverse = p.inverse[row];
    const auto length = static_cast<double>(p.length), factor = static_cast<double>(inverse),
               centre = static_cast<double>(mean);
    const double sum = sumInLanes(p.length, [=](std::int64_t i) { return static_cast<double>(dy[i] * scale[i]); });
    const double product = sumWithTail(p.length, [=](std::int64_t i) {
      return static_cast<double>(dy[i] * scale[i]) * (static_cast<double>(x[i]) - centre);
    }) * factor;
    const NormalGradSettings s{inverse, mean, static_cast<float>(sum / length),
                               static_cast<float>(product * factor / length)};
    for (std::int64_t i = laneOfGroup(); i < p.length; i += kGroup)
      p.dx[row * p.length + i] = normalGradOf(s, dy[i] * scale[i], x[i]);
  }
}
/// A thread a column of a block of rows.
MSDBG_KERNEL(layer_norm_columns, LayerNormGradParameters) {
  const std::int64_t all = (p.rows + kNormBlockRows - 1) / kNormBlockRows * p.length;
  for (std::int64_t at = globalThread(); at < all; at += allThreads()) {
    const std::int64_t rowBlock = at / p.length, j = at % p.length, first = rowBlock * kNormBlockRows;
    const std::int64_t last = first + kNormBlockRows < p.rows ? first + kNormBlockRows : p.rows;
    double product = 0, sum = 0;
    for (std::int64_t row = first; row < last; ++row) {
      const double gradient = static_cast<double>(p.dy[row * p.length + j]),
                   x = static_cast<double>(p.x[row * p.length + j]);
      product += gradient * ((x - static_cast<double>(p.mean[row])) * static_cast<double>(p.inverse[row]));
      sum += gradient;
    }
    p.sums[rowBlock * 2 * p.length + j] = product;
    p.sums[rowBlock * 2 * p.length + p.length + j] = sum;
  }
}
MSDBG_KERNEL(layer_norm_fold, LayerNormGradParameters) {
  const std::int64_t rowBlocks = (p.rows + kNormBlockRows - 1) / kNormBlockRows;
  for (std::int64_t j = globalThread(); j < p.length; j += allThreads()) {
    double product = 0, sum = 0;
    for (std::int64_t b = 0; b < rowBlocks; ++b) {
      product += p.sums[b * 2 * p.length + j];
      sum += p.sums[b * 2 * p.length + p.length + j];
    }
    p.dScale[j] = static_cast<float>(product);
    p.dB[j] = static_cast<float>(sum);
  }
}

MSDBG_KERNEL(cross_entropy, CrossEntropyParameters) {
  for (std::int64_t row = globalGroup(); row < p.rows; row += allGroups())
    logSoftmaxRow(p.logits + row * p.classes, p.logProb + row * p.classes, p.classes);
}
/// 1 + the first row whose label is none of the classes, or 0.
MSDBG_DEVICE std::int64_t wrongLabel(const std::int64_t* labels, std::int64_t rows, std::int64_t classes) {
  for (std::int64_t row = 0; row < rows; ++row)
    if (labels[row] < 0 || labels[row] >= classes) return row + 1;
  return 0;
}
/// In row order by one thread.
MSDBG_KERNEL(mean_loss, CrossEntropyParameters) {
  if (globalThread() != 0) return;
  double sum = 0;
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const std::int64_t label = p.labels[row];
    const bool known = label >= 0 && label < p.classes;
    if (!known && wrong == 0) wrong = row + 1;
    sum -= static_cast<double>(p.logProb[row * p.classes + (known ? label : 0)]);
  }
  *p.alarm = wrong;
  *p.loss = static_cast<float>(sum / static_cast<double>(p.rows));
}
MSDBG_KERNEL(cross_entropy_grad, CrossEntropyGradParameters) {
  const float scale = static_cast<float>(static_cast<double>(*p.dy) / static_cast<double>(p.rows));
  for (std::int64_t at = globalThread(); at < p.rows * p.classes; at += allThreads()) {
    const float y = p.logProb[at];
    const bool isLabel = p.labels[at / p.classes] == at % p.classes;
    p.dx[at] = isLabel ? vecExpMinusOne(y) * scale : vecExp(y) * scale;
  }
}
MSDBG_KERNEL(cross_entropy_grad_check, CrossEntropyGradParameters) {
  if (globalThread() == 0) *p.alarm = wrongLabel(p.labels, p.rows, p.classes);
}

}  // namespace msdbg::core::device
