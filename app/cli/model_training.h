// What `dump`, `train-model` and `bench` share about built-in models: which one, how it is built, what feeds
// it. Main thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core_engine/models/model.h"
#include "core_engine/train/data.h"

namespace CLI {
class App;
}

namespace msdbg::app {

inline constexpr std::int64_t kDefaultSteps = 20;

/// Options of a model's training; unset ones are the model's own.
struct ModelSettings {
  std::string model, data;            // data empty: the model's own
  std::optional<std::int64_t> batch;  // global: over all ranks
  std::optional<double> lr, dropout;

  void addOptions(CLI::App& app);
};

/// A ModelSettings whose every choice is made and fits together.
struct ModelTraining {
  const core::ModelInfo* info = nullptr;
  core::ModelOptions options;  // batch: rows per rank
  core::Optimizer optimizer;
  std::string data;

  /// kNotFound: unknown model (nearest ones); kUsage: the batch cannot be divided over the ranks, dropout
  /// where there is none, numbers out of range.
  static core::Result<ModelTraining> choose(const ModelSettings& settings, int ranks);
  /// kUsage: the model cannot be built so.
  core::Result<core::Value> build(core::Graph& graph) const;
  core::Result<std::unique_ptr<core::DataLoader>> loader(std::uint64_t seed) const;
};

}  // namespace msdbg::app
