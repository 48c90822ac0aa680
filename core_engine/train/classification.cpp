#include "core_engine/train/classification.h"

#include <cmath>
#include <span>

namespace msdbg::core {
namespace {

/// Where the largest is, the first of equals. NaN never is; a row of NaN has none (-1).
template <typename T>
std::int64_t largestOf(std::span<const T> row) {
  T most = 0;
  std::int64_t best = -1;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (best < 0 ? std::isnan(row[i]) : !(row[i] > most)) continue;
    most = row[i];
    best = static_cast<std::int64_t>(i);
  }
  return best;
}

}  // namespace

std::optional<Classification> findClassification(const Graph& graph) {
  std::optional<Classification> found;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward || node.opType != "SoftmaxCrossEntropyLoss") continue;
    if (found || graph.tensor(node.inputs[0]).shape.rank() != 2) return std::nullopt;
    found = Classification{node.inputs[0], node.inputs[1]};
  }
  return found;
}

// Every step asks: gpt has half a million logits in a batch.
std::int64_t countCorrect(const Tensor& logits, const Tensor& label, std::int64_t rows) {
  const auto labels = label.data<std::int64_t>();
  const auto classes = static_cast<std::size_t>(logits.shape()[1]);
  std::int64_t correct = 0;
  const Tensor wide = isRounded(logits.dtype()) ? logits.cast(DType::Float32) : logits;
  visitFloating(wide.dtype(), [&](auto zero) {
    const auto all = wide.data<decltype(zero)>();
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
      correct += largestOf(all.subspan(row * classes, classes)) == labels[row];
  });
  return correct;
}

}  // namespace msdbg::core
