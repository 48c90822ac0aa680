// What `dump`, `train-model` and `bench` share about built-in models: which one, how it is built, what feeds
// it. Main thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/model_settings.h"
#include "core_engine/models/model.h"
#include "core_engine/plan/pass_selection.h"
#include "core_engine/runtime/backend.h"
#include "core_engine/train/data.h"

namespace msdbg::app {

inline constexpr std::int64_t kDefaultSteps = 20;

/// What the option chooses of a size.
std::int64_t sizeOf(const core::ModelSize& size, const SizeOption& option);
std::int64_t& sizeOf(core::ModelSize& size, const SizeOption& option);

/// The CPU where none was given. kUsage: there is none of that name; kUnsupported: it is not here.
core::Result<core::BackendKind> backendFrom(const std::optional<std::string>& backend);

/// What is not given here the environment says. kUsage: a name that is no pass.
core::Result<core::PlanChoices> readChoices(const PlanSettings& settings);

/// A ModelSettings whose every choice is made and fits together.
struct ModelTraining {
  const core::ModelInfo* info = nullptr;
  core::ModelOptions options;  // batch: rows per rank
  core::Optimizer optimizer;
  std::string data;

  /// kNotFound: unknown model (nearest ones); kUsage: the batch cannot be divided over the ranks, dropout or
  /// a size where there is none, numbers out of range.
  static core::Result<ModelTraining> choose(const ModelSettings& settings, int ranks);
  /// kUsage: the model cannot be built so.
  core::Result<core::Value> build(core::Graph& graph) const;
  core::Result<std::unique_ptr<core::DataLoader>> loader(std::uint64_t seed) const;
  /// The options that choose exactly this training, and nothing the model has not: "--batch", 64, …
  std::vector<std::pair<std::string, std::string>> optionWords(int ranks) const;
};

}  // namespace msdbg::app
