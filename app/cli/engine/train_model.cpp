// msdbg train-model (hidden): trains a built-in model inside one rank, as a user's program would. `msdbg dump
// MODEL` starts it; what it needs besides comes through the environment (dump/session/session.h).
#include <optional>
#include <stdexcept>

#include "app/cli/command.h"
#include "app/cli/engine/model_training.h"
#include "app/cli/engine/resume.h"
#include "core_engine/train/trainer.h"
#include "dump/session/session.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;

struct RankSettings {
  ModelSettings model;
  std::string resume;                     // run folder; "": from the beginning
  std::int64_t checkpoint = 0, from = 0;  // iterations
};

core::Status train(dump::Session& session, const RankSettings& settings) {
  MSDBG_ASSIGN(const ModelTraining training, ModelTraining::choose(settings.model, session.ranks()));
  MSDBG_ASSIGN(const std::unique_ptr<core::DataLoader> loader, training.loader(session.seed()));
  std::optional<core::TrainingState> state;
  if (!settings.resume.empty()) {
    const ResumePoint point{settings.resume, core::Iteration(settings.checkpoint),
                            core::Iteration(settings.from)};
    MSDBG_ASSIGN(state, stateAt(point, session, training));
  }
  core::Graph graph("network");
  MSDBG_ASSIGN(const core::Value loss, training.build(graph));
  core::Trainer trainer(session, graph, loss, training.optimizer, {});
  if (state) trainer.restore(*state);
  for (const core::Batch& batch : session.shard(*loader, session.steps(kDefaultSteps), trainer.iteration()))
    trainer.step(batch);
  return core::Ok{};
}

core::Result<int> trainModel(const RankSettings& settings, const Context& context) {
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
  auto settings = std::make_shared<RankSettings>();
  app.add_option("MODEL", settings->model.model);
  settings->model.addOptions(app);
  app.add_option("--resume", settings->resume);
  app.add_option("--checkpoint", settings->checkpoint);
  app.add_option("--from", settings->from);
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
