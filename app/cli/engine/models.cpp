// msdbg models: what `msdbg dump MODEL` can train.
#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/engine/model_training.h"
#include "app/cli/json_output.h"
#include "app/cli/table.h"
#include "core_engine/models/model.h"

namespace msdbg::app {
namespace {

std::int64_t parameterCount(const core::ModelInfo& model) {
  core::Graph graph("network");
  model.build(graph, {.batch = 1});
  std::int64_t count = 0;
  for (const core::TensorInfo& tensor : graph.tensors())
    if (tensor.trainable) count += tensor.shape.elements();
  return count;
}

Json ruleJson(const core::Sgd& r) {
  return {{"momentum", r.momentum}, {"weight_decay", r.weightDecay}, {"nesterov", r.nesterov}};
}
template <typename AdamRule>
Json ruleJson(const AdamRule& r) {
  return {{"beta1", r.beta1}, {"beta2", r.beta2}, {"epsilon", r.epsilon}, {"weight_decay", r.weightDecay}};
}

Json optimizerJson(const core::Optimizer& optimizer) {
  Json json = std::visit([](const auto& rule) { return ruleJson(rule); }, optimizer.rule);
  json["name"] = optimizer.name();
  json["lr"] = optimizer.lr();
  return json;
}

std::string inputText(const core::ModelInfo& m) {
  if (m.readsText()) return fmt::format("{} bytes", m.size.context);
  return fmt::format("{}x{}x{}", m.image.channels, m.image.height, m.image.width);
}

// null where there is no choice.
Json sizeJson(const core::ModelSize& size) {
  Json json = Json::object();
  for (const SizeOption& option : sizeOptions())
    json[option.key()] = sizeOf(size, option) ? Json(sizeOf(size, option)) : Json();
  return json;
}

Json modelJson(const core::ModelInfo& model) {
  return {{"name", model.name},
          {"doc", model.doc},
          {"file", model.file},
          {"image", {model.image.channels, model.image.height, model.image.width}},
          {"batch", model.batch},
          {"parameters", parameterCount(model)},
          {"sequence", model.size.context},
          {"optimizer", optimizerJson(model.optimizer)},
          {"dropout", model.hasDropout},
          {"size", sizeJson(model.size)}};
}

void printTable() {
  Table table({"model", ">parameters", "input", ">batch", ">lr", "source", "what it is"});
  for (const core::ModelInfo& m : core::builtinModels())
    table.row({std::string(m.name), groupedNumber(parameterCount(m)), inputText(m), std::to_string(m.batch),
               fmt::format("{:g}", m.optimizer.lr()), std::string(m.file), std::string(m.doc)});
  fmt::print("{}", table.text());
}

Command::Run setup(CLI::App&, Context& context) {
  return [&context]() -> core::Result<int> {
    if (!context.json) return printTable(), kExitFine;
    Json json = document("models");
    json["models"] = Json::array();
    for (const core::ModelInfo& model : core::builtinModels()) json["models"].push_back(modelJson(model));
    printJson(json);
    return kExitFine;
  };
}

}  // namespace

Command modelsCommand() {
  return {.name = "models",
          .summary = "the built-in models that dump can train",
          .examples = "  msdbg models\n  msdbg models --json\n",
          .setup = setup};
}

}  // namespace msdbg::app
