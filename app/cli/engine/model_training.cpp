#include "app/cli/engine/model_training.h"

#include <fmt/format.h>

#include <algorithm>

#include "core_engine/base/text.h"

namespace msdbg::app {

using core::Error;
using core::ErrorCode;
using core::Result;

namespace {

constexpr std::pair<std::string_view, std::int64_t core::ModelSize::*> kSizes[] = {
    {"--layers", &core::ModelSize::layers},
    {"--heads", &core::ModelSize::heads},
    {"--width", &core::ModelSize::width},
    {"--context", &core::ModelSize::context},
    {"--vocabulary", &core::ModelSize::vocabulary}};

std::int64_t core::ModelSize::*memberOf(const SizeOption& option) {
  return std::ranges::find(kSizes, option.name, [](const auto& row) { return row.first; })->second;
}

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

constexpr std::pair<std::string_view, core::DType> kPrecisions[] = {
    {"fp32", core::DType::Float32}, {"bf16", core::DType::BFloat16}, {"fp16", core::DType::Float16}};

Result<core::DType> precisionFrom(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, dtype] : kPrecisions) {
    if (known == name) return dtype;
    names.emplace_back(known);
  }
  return Error(ErrorCode::kUsage, fmt::format("--precision {}: there are {}{}", name, core::join(names, ", "),
                                              core::didYouMean(name, names)));
}

core::Status checkNumbers(const ModelSettings& settings, const core::ModelInfo& model) {
  if (settings.batch && *settings.batch < 1) return Error(ErrorCode::kUsage, "--batch must be at least 1");
  if (settings.lr && !(*settings.lr > 0)) return Error(ErrorCode::kUsage, "--lr must be greater than 0");
  if (settings.dropout && !(*settings.dropout >= 0 && *settings.dropout < 1))
    return Error(ErrorCode::kUsage, "--dropout must lie in [0, 1)");
  if (settings.dropout.value_or(0) != 0 && !model.hasDropout)
    return Error(ErrorCode::kUsage, fmt::format("--dropout: {} has no dropout", model.name));
  for (const SizeOption& option : sizeOptions())
    if (settings.given(option) != 0 && sizeOf(model.size, option) == 0)
      return Error(ErrorCode::kUsage, fmt::format("{}: {} has no such choice", option.name, model.name));
  return core::Ok{};
}

}  // namespace

std::int64_t sizeOf(const core::ModelSize& size, const SizeOption& option) { return size.*memberOf(option); }

std::int64_t& sizeOf(core::ModelSize& size, const SizeOption& option) { return size.*memberOf(option); }

Result<core::BackendKind> backendFrom(const std::optional<std::string>& backend) {
  MSDBG_ASSIGN(const core::BackendKind kind, core::backendNamed(backend.value_or("cpu")));
  if (const auto device = core::deviceLibraries(kind, core::Rank(0)); !device.ok())
    return device.error().in("--backend " + *backend);
  return kind;
}

Result<core::PlanChoices> readChoices(const PlanSettings& settings) {
  MSDBG_ASSIGN(core::PlanChoices choices, core::PlanChoices::fromEnvironment());
  if (!settings.passes.empty()) {
    auto selection = core::PassSelection::parse(settings.passes);
    if (!selection.ok()) return selection.error().in("--passes");
    choices.passes = std::move(selection).value();
  }
  if (!settings.recompute.empty()) choices.recompute = settings.recompute;
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
  MSDBG_ASSIGN(training.options.precision, precisionFrom(settings.precision.value_or("fp32")));
  training.options.size = training.info->size;
  for (const SizeOption& option : sizeOptions())
    if (const std::int64_t given = settings.given(option)) sizeOf(training.options.size, option) = given;
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
  for (const auto& [name, dtype] : kPrecisions)
    if (dtype == options.precision && dtype != core::DType::Float32) words.emplace_back("--precision", name);
  for (const SizeOption& option : sizeOptions())
    if (const std::int64_t size = sizeOf(options.size, option))
      words.emplace_back(option.name, std::to_string(size));
  return words;
}

}  // namespace msdbg::app
