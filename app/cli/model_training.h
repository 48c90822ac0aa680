// What `dump`, `train-model` and `bench` share about built-in models: which one, how it is built, what feeds
// it. Main thread only.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core_engine/models/model.h"
#include "core_engine/plan/pass_selection.h"
#include "core_engine/runtime/backend.h"
#include "core_engine/train/data.h"

namespace CLI {
class App;
}

namespace msdbg::app {

inline constexpr std::int64_t kDefaultSteps = 20;

/// One row of what can be chosen of a model's size.
struct SizeOption {
  std::string_view name;  // "--layers"
  std::int64_t core::ModelSize::*member;
  std::string_view doc;
  std::string key() const { return std::string(name.substr(2)); }  // in JSON
};
std::span<const SizeOption> sizeOptions();  // model_training.cpp: the only list

/// Options of a model's training; unset ones are the model's own.
struct ModelSettings {
  std::string model, data;            // data empty: the model's own
  std::optional<std::int64_t> batch;  // global: over all ranks
  std::optional<double> lr, dropout;
  core::ModelSize size = {};  // 0: not given

  void addOptions(CLI::App& app);
  /// Whether anything is given that only a model takes.
  bool givesModelOptions() const;
};

/// Which passes are on, and what is computed again instead of kept.
/// --backend, or what MSDBG_BACKEND says.
void addBackendOption(CLI::App& app, std::optional<std::string>& backend);
/// The CPU where none was given. kUsage: there is none of that name; kUnsupported: it is not here.
core::Result<core::BackendKind> backendFrom(const std::optional<std::string>& backend);

struct PlanSettings {
  std::string passes;
  std::vector<std::string> recompute;

  void addOptions(CLI::App& app);
  /// What is not given here the environment says. kUsage: a name that is no pass.
  core::Result<core::PlanChoices> read() const;
};

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
