// What works along rows: Softmax and LogSoftmax with their gradients, LayerNormalization, cross-entropy. A
// row is a group's of 16 threads. The order of every sum is the CPU's (core_engine/cpu/softmax.cpp,
// layer_norm.cpp, cross_entropy.cpp).
#pragma once

#include "core_engine/device/kernels/elementwise.h"
#include "core_engine/device/kernels/group_sums.h"
#include "core_engine/device/kernels/parameters.h"

namespace msdbg::core::device {

/// A lane's part of a row, elements lane, lane + 16, …: in registers where it is at most kMost of them, so
/// that all are on their way from memory at once and are read once.
template <int kMost>
struct InRegisters {
  float values[kMost];
  std::int64_t count;  // of the row

  template <typename Load>
  MSDBG_DEVICE InRegisters(std::int64_t n, const Load& load) : count(n) {
    MSDBG_UNROLL for (int k = 0; k < kMost; ++k) values[k] = isThere(k) ? load(at(k)) : 0.0f;
  }
  MSDBG_DEVICE static std::int64_t at(int k) { return laneOfGroup() + std::int64_t{k} * kGroup; }
  MSDBG_DEVICE bool isThere(int k) const { return at(k) < count; }

  /// values = f(value)
  template <typename F>
  MSDBG_DEVICE void change(const F& f) {
    MSDBG_UNROLL for (int k = 0; k < kMost; ++k) if (isThere(k)) values[k] = f(values[k]);
  }
  /// In lanes, with what does not fill them; term(value, i).
  template <typename Term>
  MSDBG_DEVICE double sum(const Term& term) const {
    double lane = 0;
    MSDBG_UNROLL for (int k = 0; k < kMost; ++k) if (isThere(k)) lane += term(values[k], at(k));
    return foldGroup(lane);
  }
  /// As largestOf() has it; `first`: the row's first value.
  MSDBG_DEVICE float largest(float first) const {
    float lane = first;
    MSDBG_UNROLL for (int k = 0; k < kMost; ++k) if (isThere(k)) lane = values[k] > lane ? values[k] : lane;
    return largestOfLanes(lane);
  }
  template <typename Store>
  MSDBG_DEVICE void store(const Store& give) const {
    MSDBG_UNROLL for (int k = 0; k < kMost; ++k) if (isThere(k)) give(at(k), values[k]);
  }
};

template <int kMost>
MSDBG_DEVICE void softmaxRow(const float* x, float* y, std::int64_t n) {
  InRegisters<kMost> row(n, [x](std::int64_t i) { return x[i]; });
  const float largest = row.largest(x[0]);
  row.change([largest](float v) { return vecExp(v - largest); });
  const float sum = static_cast<float>(row.sum([](float v, std::int64_t) { return static_cast<double>(v); }));
  row.store([=](std::int64_t i, float v) { y[i] = v / sum; });
}
MSDBG_DEVICE void softmaxLongRow(const float* x, float* y, std::int64_t n) {
  const float largest = largestOf(x, n);
  for (std::int64_t i = laneOfGroup(); i < n; i += kGroup) y[i] = vecExp(x[i] - largest);
  // A lane sums what it wrote itself.
  const float sum =
      static_cast<float>(sumInLanes(n, [y](std::int64_t i) { return static_cast<double>(y[i]); }));
  for (std::int64_t i = laneOfGroup(); i < n; i += kGroup) y[i] = y[i] / sum;
}
MSDBG_KERNEL(softmax, LineParameters) {
  for (std::int64_t row = globalGroup(); row < p.rows; row += allGroups()) {
    const float* x = p.first + row * p.length;
    float* y = p.y + row * p.length;
    if (p.length <= 16 * kGroup)
      softmaxRow<16>(x, y, p.length);
    else if (p.length <= 64 * kGroup)
      softmaxRow<64>(x, y, p.length);
    else
      softmaxLongRow(x, y, p.length);
  }
}

template <int kMost>
MSDBG_DEVICE void softmaxGradRow(const float* dy, const float* y, float* dx, std::int64_t n) {
  const InRegisters<kMost> gradients(n, [dy](std::int64_t i) { return dy[i]; });
  const InRegisters<kMost> values(n, [y](std::int64_t i) { return y[i]; });
  double lane = 0;
  MSDBG_UNROLL for (int k = 0; k < kMost; ++k) if (values.isThere(k)) lane +=
      static_cast<double>(gradients.values[k]) * static_cast<double>(values.values[k]);
  const float dot = static_cast<float>(foldGroup(lane));
  MSDBG_UNROLL for (int k = 0; k < kMost; ++k) if (values.isThere(k)) dx[values.at(k)] =
      (gradients.values[k] - dot) * values.values[k];
}
MSDBG_DEVICE void softmaxGradLongRow(const float* dy, const float* y, float* dx, std::int64_t n) {
  const float dot = static_cast<float>(
      sumInLanes(n, [=](std::int64_t i) { return static_cast<double>(dy[i]) * static_cast<double>(y[i]); }));
  for (std::int64_t i = laneOfGroup(); i < n; i += kGroup) dx[i] = (dy[i] - dot) * y[i];
}
MSDBG_KERNEL(softmax_grad, LineParameters) {
  for (std::int64_t row = globalGroup(); row < p.rows; row += allGroups()) {
    const float *dy = p.first + row * p.length, *y = p.second + row * p.length;
    float* dx = p.y + row * p.length;
    if (p.length <= 16 * kGroup)  // two rows of more would take the registers of others
      softmaxGradRow<16>(dy, y, dx, p.length);
    else
      softmaxGradLongRow(dy, y, dx, p.length);
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

/// What does not fill the lanes is summed by itself, from memory: few elements.
template <int kMost, typename Term>
MSDBG_DEVICE double sumWithTail(const InRegisters<kMost>& row, const float* x, const Term& term) {
  const std::int64_t whole = row.count / kGroup * kGroup;
  double lane = 0, tail = 0;
  MSDBG_UNROLL for (int k = 0; k < kMost; ++k) if (row.at(k) < whole) lane += term(row.values[k]);
  for (std::int64_t i = whole; i < row.count; ++i) tail += term(x[i]);
  return foldGroup(lane) + tail;
}

/// Of a row, to be stored by lane 0, and used by all.
struct RowMoments {
  float mean, inverse;
};
template <int kMost>
MSDBG_DEVICE RowMoments momentsOf(const InRegisters<kMost>& row, const float* x, double epsilon) {
  const auto length = static_cast<double>(row.count);
  const double mean = row.sum([](float v, std::int64_t) { return static_cast<double>(v); }) / length;
  const double squares = sumWithTail(row, x, [mean](float v) {
    const double d = static_cast<double>(v) - mean;
    return d * d;
  });
  return {static_cast<float>(mean), static_cast<float>(1 / std::sqrt(squares / length + epsilon))};
}
MSDBG_DEVICE RowMoments momentsOfLongRow(const float* x, std::int64_t n, double epsilon) {
  const auto length = static_cast<double>(n);
  const double mean = sumInLanes(n, [x](std::int64_t i) { return static_cast<double>(x[i]); }) / length;
  const double squares = sumWithTail(n, [=](std::int64_t i) {
    const double v = static_cast<double>(x[i]) - mean;
    return v * v;
  });
  return {static_cast<float>(mean), static_cast<float>(1 / std::sqrt(squares / length + epsilon))};
}

template <int kMost>
MSDBG_DEVICE void layerNormRow(const LayerNormParameters& p, std::int64_t at) {
  const float* x = p.x + at * p.length;
  float* y = p.y + at * p.length;
  const InRegisters<kMost> row(p.length, [x](std::int64_t i) { return x[i]; });
  const RowMoments m = momentsOf(row, x, p.epsilon);
  if (laneOfGroup() == 0) p.mean[at] = m.mean, p.inverse[at] = m.inverse;
  row.store([&](std::int64_t i, float v) {
    y[i] = (v - m.mean) * m.inverse * p.scale[i] + (p.shift ? p.shift[i] : 0.0f);
  });
}
MSDBG_DEVICE void layerNormLongRow(const LayerNormParameters& p, std::int64_t at) {
  const float* x = p.x + at * p.length;
  const RowMoments m = momentsOfLongRow(x, p.length, p.epsilon);
  if (laneOfGroup() == 0) p.mean[at] = m.mean, p.inverse[at] = m.inverse;
  for (std::int64_t i = laneOfGroup(); i < p.length; i += kGroup)
    p.y[at * p.length + i] = (x[i] - m.mean) * m.inverse * p.scale[i] + (p.shift ? p.shift[i] : 0.0f);
}
MSDBG_KERNEL(layer_norm, LayerNormParameters) {
  for (std::int64_t row = globalGroup(); row < p.rows; row += allGroups()) {
    if (p.length <= 16 * kGroup)
      layerNormRow<16>(p, row);
    else
      layerNormLongRow(p, row);
  }
}

MSDBG_KERNEL(layer_norm_grad, LayerNormGradParameters) {
  for (std::int64_t row = globalGroup(); row < p.rows; row += allGroups()) {
    const float *dy = p.dy + row * p.length, *x = p.x + row * p.length, *scale = p.scale;
    const float mean = p.mean[row], inverse = p.inverse[row];
    const auto length = static_cast<double>(p.length), factor = static_cast<double>(inverse),
               centre = static_cast<double>(mean);
    const double sum =
        sumInLanes(p.length, [=](std::int64_t i) { return static_cast<double>(dy[i] * scale[i]); });
    const double product =
        sumWithTail(p.length,
                    [=](std::int64_t i) {
                      return static_cast<double>(dy[i] * scale[i]) * (static_cast<double>(x[i]) - centre);
                    }) *
        factor;
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
/// The label of a row; one that is none raises the alarm, and counts as 0.
template <typename P>
MSDBG_DEVICE std::int64_t labelOf(const P& p, std::int64_t row) {
  const std::int64_t label = p.labels[row];
  if (label >= 0 && label < p.classes) return label;
  *p.alarm = row + 1;  // whichever is last: the host looks for the first
  return 0;
}
/// In row order by one thread of one block; the others bring 256 at a time.
MSDBG_KERNEL(mean_loss, CrossEntropyParameters) {
  constexpr int kChunk = 256;
  MSDBG_SHARED float picked[kChunk];
  double sum = 0;
  for (std::int64_t top = 0; top < p.rows; top += kChunk) {
    const std::int64_t row = top + threadInBlock();
    blockBarrier();
    if (row < p.rows) picked[threadInBlock()] = p.logProb[row * p.classes + labelOf(p, row)];
    blockBarrier();
    if (threadInBlock() != 0) continue;
    const int count = static_cast<int>(p.rows - top < kChunk ? p.rows - top : kChunk);
    for (int i = 0; i < count; ++i) sum -= static_cast<double>(picked[i]);
  }
  if (threadInBlock() == 0) *p.loss = static_cast<float>(sum / static_cast<double>(p.rows));
}
MSDBG_KERNEL(cross_entropy_grad, CrossEntropyGradParameters) {
  const float scale = static_cast<float>(static_cast<double>(*p.dy) / static_cast<double>(p.rows));
  for (std::int64_t i = globalThread(); i < p.rows * p.classes; i += allThreads()) {
    const float y = p.logProb[i];
    const Divided at = divided(i, p.classes);
    const bool isLabel = labelOf(p, at.quotient) == at.rest;
    p.dx[i] = isLabel ? vecExpMinusOne(y) * scale : vecExp(y) * scale;
  }
}

}  // namespace msdbg::core::device
