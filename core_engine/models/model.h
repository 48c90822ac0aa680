// Built-in models: what `msdbg dump MODEL` trains. One file each, one row in builtin_models.cpp. Shapes are
// exactly those of shared/peers/torch_models.py.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/passes/optimizer.h"
#include "core_engine/train/data.h"

namespace msdbg::core {

/// What can be chosen of a model whose size is not fixed. In ModelOptions 0 is the model's own; in ModelInfo
/// 0 says that the model has no such choice.
struct ModelSize {
  std::int64_t layers = 0, heads = 0, width = 0;  // blocks; heads of attention; of a position's vector
  std::int64_t context = 0;                       // bytes in a row, of models that read text
  std::int64_t vocabulary = 0;                    // tokens are below it
};

struct ModelOptions {
  std::int64_t batch = 0;  // rows per rank, > 0
  double dropout = 0;      // alexnet only; BuildError elsewhere when not 0
  DType dtype = DType::Float32;
  DType precision = DType::Float32;  // of products: Graph::mixedPrecision
  ModelSize size = {};
};

struct ModelInfo {
  std::string_view name;  // "alexnet"
  std::string_view doc;
  std::string_view file;  // "core_engine/models/alexnet.cpp"
  ImageSpec image = {};   // of models that look at images
  ModelSize size = {};    // default
  std::int64_t batch;     // default global batch
  Optimizer optimizer;    // default
  bool hasDropout = false;
  bool readsText() const { return size.context > 0; }
  Value (*build)(Graph& graph, const ModelOptions& options);  // inputs "x" and "label"; returns the loss
};

std::span<const ModelInfo> builtinModels();
const ModelInfo* findModel(std::string_view name);

}  // namespace msdbg::core
