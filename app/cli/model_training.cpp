#include "app/cli/model_training.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core_engine/base/text.h"

namespace msdbg::app {

using core::Error;
using core::ErrorCode;
using core::Result;

namespace {

Error unknownModel(const std::string& name) {
  std::vector<std::string> names;
  for (const core::ModelInfo& model : core::builtinModels()) names.emplace_back(model.name);
  const std::string near = core::didYouMean(name, names);
  return {ErrorCode::kNotFound,
          fmt::format("there is no model '{}'{}", name,
                      near.empty()
                          ? fmt::format("; there are {} (a program goes behind --)", core::join(names, ", "))
                          : near)};
}

core::Status checkNumbers(const ModelSettings& settings, const core::ModelInfo& model) {
  if (settings.batch && *settings.batch < 1) return Error(ErrorCode::kUsage, "--batch must be at least 1");
  if (settings.lr && !(*settings.lr > 0)) return Error(ErrorCode::kUsage, "--lr must be greater than 0");
  if (settings.dropout && !(*settings.dropout >= 0 && *settings.dropout < 1))
    return Error(ErrorCode::kUsage, "--dropout must lie in [0, 1)");
  if (settings.dropout.value_or(0) != 0 && !model.hasDropout)
    return Error(ErrorCode::kUsage, fmt::format("--dropout: {} has no dropout", model.name));
  for (const SizeOption& option : sizeOptions())
    if (settings.size.*option.member != 0 && model.size.*option.member == 0)
      return Error(ErrorCode::kUsage, fmt::format("{}: {} has no such choice", option.name, model.name));
  return core::Ok{};
}

}  // namespace

std::span<const SizeOption> sizeOptions() {
  static constexpr SizeOption kOptions[] = {
      {"--layers", &core::ModelSize::layers, "gpt: blocks (4)"},
      {"--heads", &core::ModelSize::heads, "gpt: heads of attention, a divisor of the width (8)"},
      {"--width", &core::ModelSize::width, "gpt: numbers that stand for a position (256)"},
      {"--context", &core::ModelSize::context, "gpt: bytes in a row, as far as it can look back (128)"},
      {"--vocabulary", &core::ModelSize::vocabulary, "gpt: bytes of the text are below it (256)"}};
  return kOptions;
}

bool ModelSettings::givesModelOptions() const {
  const bool sized = std::ranges::any_of(sizeOptions(), [&](const auto& o) { return size.*o.member != 0; });
  return sized || batch || lr || dropout || !data.empty();
}

void ModelSettings::addOptions(CLI::App& app) {
  app.add_option(
         "--data", data,
         "images: digits (drawn, the default), mnist:DIR or cifar10:DIR, cifar10,flip,crop:DIR with random "
         "flips and crops; text: words (drawn, the default) or text:FILE")
      ->type_name("SPEC");
  app.add_option("--batch", batch, "rows of one iteration over all ranks (default: the model's)")
      ->type_name("N");
  app.add_option("--lr", lr, "learning rate (default: the model's)")->type_name("X");
  app.add_option("--dropout", dropout, "alexnet: dropout after its first two Gemms")->type_name("P");
  for (const SizeOption& option : sizeOptions())
    app.add_option(std::string(option.name), size.*option.member, std::string(option.doc))
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20));
}

void addBackendOption(CLI::App& app, std::optional<std::string>& backend) {
  app.add_option(
         "--backend", backend,
         "what computes: cpu, cuda (an NVIDIA GPU), emulated (a GPU's kernels on the CPU, for tests) or "
         "reference (slow); numbers differ in their last bits (cpu)")
      ->type_name("NAME")
      ->envname("MSDBG_BACKEND");
}

Result<core::BackendKind> backendFrom(const std::optional<std::string>& backend) {
  MSDBG_ASSIGN(const core::BackendKind kind, core::backendNamed(backend.value_or("cpu")));
  if (const auto device = core::deviceLibraries(kind, core::Rank(0)); !device.ok())
    return device.error().in("--backend " + *backend);
  return kind;
}

void PlanSettings::addOptions(CLI::App& app) {
  app.add_option(
         "--passes", passes,
         "passes over the plan, which change no number: -x,-y (all but these), x,y (these only), none, "
         "all (default: MSDBG_PASSES, else all)")
      ->type_name("LIST");
  app.add_option("--recompute", recompute,
                 "scopes of the forward pass (globs) whose activations are computed again for the backward "
                 "pass, not kept: less memory, more time, the same numbers (default: MSDBG_RECOMPUTE)")
      ->type_name("SCOPE")
      ->allow_extra_args(false);
}

Result<core::PlanChoices> PlanSettings::read() const {
  MSDBG_ASSIGN(core::PlanChoices choices, core::PlanChoices::fromEnvironment());
  if (!passes.empty()) {
    auto selection = core::PassSelection::parse(passes);
    if (!selection.ok()) return selection.error().in("--passes");
    choices.passes = std::move(selection).value();
  }
  if (!recompute.empty()) choices.recompute = recompute;
  return choices;
}

Result<ModelTraining> ModelTraining::choose(const ModelSettings& settings, int ranks) {
  ModelTraining training;
  training.info = core::findModel(settings.model);
  if (!training.info) return unknownModel(settings.model);
  MSDBG_TRY(checkNumbers(settings, *training.info));
  const std::int64_t batch = settings.batch.value_or(training.info->batch);
  if (batch % ranks != 0)
    return Error(ErrorCode::kUsage,
                 fmt::format("a batch of {} cannot be divided over {} ranks; give --batch {}", batch, ranks,
                             (batch / ranks + 1) * ranks));
  training.options.batch = batch / ranks;
  training.options.dropout = settings.dropout.value_or(0);
  training.options.size = training.info->size;
  for (const SizeOption& option : sizeOptions())
    if (const std::int64_t given = settings.size.*option.member) training.options.size.*option.member = given;
  training.optimizer = training.info->optimizer;
  if (settings.lr) training.optimizer.setLr(*settings.lr);
  training.data = settings.data;
  if (training.data.empty()) training.data = training.info->readsText() ? "words" : "digits";
  return training;
}

Result<core::Value> ModelTraining::build(core::Graph& graph) const {
  try {
    return info->build(graph, options);
  } catch (const core::BuildError& error) {
    return Error(ErrorCode::kUsage, fmt::format("{}: {}", info->name, error.what()));
  }
}

Result<std::unique_ptr<core::DataLoader>> ModelTraining::loader(std::uint64_t seed) const {
  core::LoaderOptions wanted;
  wanted.image = info->image;
  wanted.sequence = options.size.context;
  wanted.vocabulary = options.size.vocabulary;
  wanted.batch = options.batch;
  wanted.seed = seed;
  return core::makeLoader(data, wanted);
}

std::vector<std::pair<std::string, std::string>> ModelTraining::optionWords(int ranks) const {
  std::vector<std::pair<std::string, std::string>> words = {
      {"--data", data},
      {"--batch", std::to_string(options.batch * ranks)},
      {"--lr", core::formatDouble(optimizer.lr())}};
  if (info->hasDropout) words.emplace_back("--dropout", core::formatDouble(options.dropout));
  for (const SizeOption& option : sizeOptions())
    if (options.size.*option.member != 0)
      words.emplace_back(option.name, std::to_string(options.size.*option.member));
  return words;
}

}  // namespace msdbg::app
