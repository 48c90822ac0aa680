// msdbg_replay_bench MSDBG FOLDER [MODEL…]: how fast iterations are computed again, beside how fast they are
// trained. In turns of some steps each, in one process: training that nobody watches, the recorded graph
// computed again, and the same with every tensor's hash compared. Prints ratios of the least times. ./dev
// bench replay makes the folder.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "core_engine/models/model.h"
#include "core_engine/train/trainer.h"
#include "replay/recompute/judge.h"
#include "replay/recompute/recomputation.h"
#include "tests/bench/support.h"

using namespace msdbg;
using namespace msdbg::bench;

namespace {

constexpr int kThreads = 2, kTurns = 6, kSteps = 5;

struct Least {
  double trained = 1e9, computed = 1e9, compared = 1e9;  // s an iteration
};

template <typename F>
void measure(double& least, const F& turn) {
  const double begin = now();
  turn();
  least = std::min(least, (now() - begin) / kSteps);
}

struct Training {
  BenchContext context{nullptr, kThreads};
  core::Graph graph{"network"};
  std::unique_ptr<core::Trainer> trainer;
  std::vector<core::Batch> batches;
};

// What was recorded, by the model itself.
std::unique_ptr<Training> trainingOf(const replay::Run& run) {
  const core::ModelInfo* model = core::findModel(run.description().model);
  if (!model) fail("there is no model " + run.description().model);
  auto t = std::make_unique<Training>();
  core::ModelOptions options;
  for (const auto& [name, value] : run.description().modelOptions)
    if (name == "batch") options.batch = std::stoll(value);
  const core::Value loss = model->build(t->graph, options);
  t->trainer = std::make_unique<core::Trainer>(t->context, t->graph, loss, model->optimizer);
  return t;
}

void record(const std::string& msdbg, const std::filesystem::path& run, const std::string& model) {
  const int steps = kTurns * kSteps + kSteps;
  const std::string command = "'" + msdbg + "' dump " + model +
                              " --policy record --checkpoint-every 1000 --steps " + std::to_string(steps) +
                              " --threads " + std::to_string(kThreads) + " --force -o '" + run.string() +
                              "' > /dev/null 2>&1";
  if (std::system(command.c_str()) != 0) fail("cannot record " + model);
}

Least measureModel(replay::Run& run, const std::string& model) {
  const auto bare = require(replay::Recomputation::create(run, {}));
  const auto judged = require(replay::Recomputation::create(run, {}));
  require(bare->begin(core::Iteration(0)));
  require(judged->begin(core::Iteration(0)));
  const std::unique_ptr<Training> training = trainingOf(run);
  for (int i = 0; i < kTurns * kSteps + kSteps; ++i)
    training->batches.push_back(require(run.recomputable()->batch(core::Rank(0), core::Iteration(i))));
  replay::Judge judge(run, judged->runLock(), core::Rank(0), kThreads);
  const std::vector<core::Observer*> observers = {&judge};
  const std::size_t tensors = judged->rank(core::Rank(0)).graph().tensors().size();
  Least least;
  std::size_t at = 0;
  for (int turn = 0; turn <= kTurns; ++turn) {
    Least warm;
    Least& taken = turn == 0 ? warm : least;
    measure(taken.trained, [&] {
      for (int i = 0; i < kSteps; ++i) training->trainer->step(training->batches[at++]);
    });
    measure(taken.computed, [&] {
      for (int i = 0; i < kSteps; ++i) require(bare->step({}));
    });
    measure(taken.compared, [&] {
      for (int i = 0; i < kSteps; ++i) {
        auto recorded = require(replay::RecordedHashes::read(run, core::Rank(0), judged->next(), tensors));
        recorded.stored.assign(tensors, false);
        judge.expect(judged->rank(core::Rank(0)).graph(), turn == 0 && i == 0, std::move(recorded));
        require(judged->step(observers));
        if (!judge.different().empty()) fail(model + ": computed again, something differs");
      }
    });
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("usage: msdbg_replay_bench MSDBG FOLDER [MODEL...]");
  std::vector<std::string> models(argv + 3, argv + argc);
  if (models.empty()) models = {"mlp", "lenet5", "alexnet", "resnet20", "gpt"};
  std::printf("%-10s %12s %12s %12s %18s %18s\n", "model", "trained ms", "computed ms", "compared ms",
              "computed/trained", "compared/trained");
  for (const std::string& model : models) {
    const std::filesystem::path folder = std::filesystem::path(argv[2]) / (model + ".msdbg");
    record(argv[1], folder, model);
    const auto run = require(replay::Run::open(folder));
    const Least least = measureModel(*run, model);
    std::printf("%-10s %12.2f %12.2f %12.2f %18.2f %18.2f\n", model.c_str(), 1e3 * least.trained,
                1e3 * least.computed, 1e3 * least.compared, least.trained / least.computed,
                least.trained / least.compared);
    std::fflush(stdout);
  }
  return 0;
}
