// What accuracy is computed from: the logits and labels of a graph's only cross-entropy. For language models
// a row is one place in the text. Pure functions.
#pragma once

#include <optional>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

struct Classification {
  TensorId logits, label;  // [N, C] floating; [N] Int64
};

/// nullopt: the graph has no softmaxCrossEntropy(logits [N, C], label), or several.
std::optional<Classification> findClassification(const Graph& graph);

/// Among the first `rows` rows those whose largest logit is the label's. NaN never is the largest.
std::int64_t countCorrect(const Tensor& logits, const Tensor& label, std::int64_t rows);

}  // namespace msdbg::core
