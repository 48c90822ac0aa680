// The options of `dump`, `train-model` and `bench` that are about training: as given, nothing of them looked
// at. What they mean the engine knows (app/cli/engine). Main thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace msdbg::app {

/// One row of what can be chosen of a model's size.
struct SizeOption {
  std::string_view name;  // "--layers"
  std::string_view doc;
  std::string key() const { return std::string(name.substr(2)); }  // in JSON
};
std::span<const SizeOption> sizeOptions();  // model_settings.cpp: the only list

/// Options of a model's training; unset ones are the model's own.
struct ModelSettings {
  std::string model, data;            // data empty: the model's own
  std::optional<std::int64_t> batch;  // global: over all ranks
  std::optional<double> lr, dropout;
  std::optional<std::string> precision;
  std::map<std::string_view, std::int64_t> size;  // by SizeOption::name; 0 or absent: not given

  void addOptions(CLI::App& app);
  /// Whether anything is given that only a model takes.
  bool givesModelOptions() const;
  /// 0: not given.
  std::int64_t given(const SizeOption& option) const;
};

/// --backend, or what MSDBG_BACKEND says.
void addBackendOption(CLI::App& app, std::optional<std::string>& backend);

/// Which passes are on, and what is computed again instead of kept.
struct PlanSettings {
  std::string passes;
  std::vector<std::string> recompute;

  void addOptions(CLI::App& app);
};

}  // namespace msdbg::app
