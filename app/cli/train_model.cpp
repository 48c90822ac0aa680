// msdbg train-model (hidden): trains a built-in model inside one rank, as a user's program would. `msdbg dump
// MODEL` starts it; what it needs besides comes through the environment (dump/session/session.h).
#include <stdexcept>

#include "app/cli/command.h"
#include "app/cli/model_training.h"
#include "core_engine/train/trainer.h"
#include "dump/session/session.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;

core::Status train(dump::Session& session, const ModelSettings& settings) {
  MSDBG_ASSIGN(const ModelTraining training, ModelTraining::choose(settings, session.ranks()));
  MSDBG_ASSIGN(const std::unique_ptr<core::DataLoader> loader, training.loader(session.seed()));
  core::Graph graph("network");
  MSDBG_ASSIGN(const core::Value loss, training.build(graph));
  core::Trainer trainer(session, graph, loss, training.optimizer);
  for (const core::Batch& batch : session.shard(*loader, session.steps(kDefaultSteps))) trainer.step(batch);
  return core::Ok{};
}

core::Result<int> trainModel(const ModelSettings& settings, const Context& context) {
  std::vector<char*> arguments;
  for (const std::string& word : context.commandLine) arguments.push_back(const_cast<char*>(word.c_str()));
  try {
    dump::Session session(static_cast<int>(arguments.size()), arguments.data());
    try {
      const core::Status status = train(session, settings);
      if (status.ok()) return kExitFine;
      session.fail(status.error().message());
      return status.error();
    } catch (const std::exception& exception) {
      session.fail(exception.what());
      throw;
    }
  } catch (const std::runtime_error& error) {
    return Error(ErrorCode::kIo, error.what());
  }
}

Command::Run setup(CLI::App& app, Context& context) {
  auto settings = std::make_shared<ModelSettings>();
  app.add_option("MODEL", settings->model);
  settings->addOptions(app);
  for (const char* option : {"--steps", "--seed", "--threads"})  // the Session reads these itself
    app.add_option(option, [](const CLI::results_t&) { return true; });
  return [settings, &context] { return trainModel(*settings, context); };
}

}  // namespace

Command trainModelCommand() {
  return {.name = "train-model",
          .summary = "trains a built-in model in one rank (internal)",
          .examples = "  msdbg train-model mlp --steps 5\n",
          .setup = setup,
          .hidden = true};
}

}  // namespace msdbg::app
