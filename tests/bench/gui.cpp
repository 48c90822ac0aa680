// msdbg_gui_bench: how long the window takes, offscreen: until the first useful picture of a long run, for a
// step of the cursor, to expand a large scope. Arguments: the run of alexnet (see ./dev bench gui) and a
// folder for a run that it makes itself.
#include <QApplication>
#include <QElapsedTimer>
#include <QJsonArray>
#include <filesystem>

#include "app/gui/main_window.h"
#include "app/panels/builtin_panels.h"
#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "dump/writer/recorder.h"
#include "tests/bench/support.h"

using namespace msdbg;
using namespace msdbg::bench;
namespace fs = std::filesystem;

namespace {

constexpr int kRounds = 5, kSteps = 40, kDeepNodes = 500;
constexpr auto kLargeTensor = "network/conv4/weight:0";

void process() {
  QCoreApplication::processEvents(QEventLoop::AllEvents, 2);
  QCoreApplication::sendPostedEvents();
}

/// Every panel has what it asked for and is drawn; the findings may still wait for the check.
void waitUntilDrawn(app::MainWindow& window) {
  const auto drawn = [&] {
    if (!window.document()) return false;
    for (const app::PanelFactory factory : app::builtinPanels())
      if (const char* id = factory().id; std::string_view(id) != "findings" && !window.panel(id)->settled())
        return false;
    return true;
  };
  do process();
  while (!drawn());
  window.repaint();
}

/// A run whose scope "deep" holds 500 nodes, as an unrolled loop gives: a chain with shortcuts.
fs::path recordDeepRun(const fs::path& folder) {
  const fs::path run = folder / "deep.msdbg";
  fs::remove_all(run);
  fs::create_directories(run);
  core::Graph graph("network");
  core::Value x = graph.input("x", {4, 16});
  const core::Value label = graph.input("label", {4}, core::DType::Int64);
  {
    const core::Scope scope = graph.scope("deep");
    core::Value before = x;
    for (int i = 0; i < kDeepNodes / 2; ++i) {
      const core::Value next = relu(x + before);
      if (i % 3 == 0) before = x;
      x = next;
    }
  }
  core::Value loss;
  {
    const core::Scope scope = graph.scope("head");
    loss = softmaxCrossEntropy(linear(x, {.out = 3}), label);
  }
  dump::RunInfo info;
  require(dump::writeRunInfo(run, info));
  auto recorder = require(dump::Recorder::create({run, core::Rank(0), 1, 1}, info.policy));
  BenchContext context(recorder.get(), 1);
  core::Trainer trainer(context, graph, loss, core::Sgd{.lr = 0.01});
  core::Batch batch{core::Iteration(0),
                    {{"x", core::Tensor::zeros(core::DType::Float32, {4, 16})},
                     {"label", core::Tensor::zeros(core::DType::Int64, {4})}}};
  for (int i = 0; i < 3; ++i) trainer.step(batch);
  require(recorder->finish({.state = "finished"}));
  recorder.reset();
  info.end.state = "finished";
  require(dump::writeRunInfo(run, info));
  return run;
}

struct Opened {
  double picture = 0, finding = 0;
};

void waitForCheck(app::MainWindow& window) {
  do process();
  while (window.document()->findings().state() == app::Findings::State::kChecking || !window.settled());
}

/// From nothing to a window whose panels show the run, and until the check's answer is shown.
Opened open(const fs::path& run) {
  const double start = now();
  app::ThemeController theme;
  theme.setTheme(app::Theme::kLight);
  app::MainWindow window(theme, app::MainWindow::Keep::kForget);
  window.show();
  window.openRun(QString::fromStdString(run.string()));
  waitUntilDrawn(window);
  Opened opened{now() - start, 0};
  waitForCheck(window);
  window.repaint();
  opened.finding = now() - start;
  return opened;
}

/// Seconds of each step through the newest iterations, whose values are stored.
std::vector<double> cursorSteps(app::MainWindow& window) {
  window.lastIteration();
  waitUntilDrawn(window);
  std::vector<double> seconds;
  for (int i = 0; i < kSteps; ++i) {
    const double start = now();
    i % 8 == 7 ? (i % 16 == 7 ? window.nextRank() : window.previousRank()) : window.previousIteration();
    waitUntilDrawn(window);
    seconds.push_back(now() - start);
  }
  return seconds;
}

double expandDeepScope(const fs::path& run) {
  app::ThemeController theme;
  theme.setTheme(app::Theme::kLight);
  app::MainWindow window(theme, app::MainWindow::Keep::kForget);
  window.show();
  window.openRun(QString::fromStdString(run.string()));
  waitUntilDrawn(window);
  waitForCheck(window);
  app::Panel* graph = window.panel("graph");
  graph->restore({{"open", QJsonArray{"network"}}});
  waitUntilDrawn(window);
  const double start = now();
  graph->restore({{"open", QJsonArray{"network", "network/deep"}}});
  waitUntilDrawn(window);
  return now() - start;
}

void msRow(const char* what, double seconds, double most) {
  row(what, seconds * 1e3, "ms",
      ("at most " + std::to_string(static_cast<int>(most)) + " ms wanted").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  if (argc != 3) fail("arguments: RUN FOLDER");
  const fs::path run = argv[1];
  std::vector<double> picture, finding, deep;
  for (int i = 0; i < kRounds; ++i) {
    const Opened opened = open(run);
    picture.push_back(opened.picture);
    finding.push_back(opened.finding);
  }
  const fs::path deepRun = recordDeepRun(argv[2]);
  for (int i = 0; i < kRounds; ++i) deep.push_back(expandDeepScope(deepRun));

  app::ThemeController theme;
  theme.setTheme(app::Theme::kLight);
  app::MainWindow window(theme, app::MainWindow::Keep::kForget);
  window.show();
  window.openRun(QString::fromStdString(run.string()), {"network/conv3/Conv-op1", {}, {}});
  waitUntilDrawn(window);
  waitForCheck(window);
  const std::vector<double> small = cursorSteps(window);
  window.document()->cursor().selectTensor(*window.document()->graph().findTensor(kLargeTensor));
  const std::vector<double> large = cursorSteps(window);

  const app::RunFacts& facts = window.document()->facts();
  std::printf("%s: %zu iterations x %zu ranks x %s, offscreen 1280x800; median of %d\n\n",
              run.filename().c_str(), facts.allIterations.size(), facts.ranks.size(),
              facts.description.model.c_str(), kRounds);
  msRow("first useful picture, file cache warm", median(picture), 1000);
  msRow("cursor step, an activation shown", median(small), 50);
  msRow("  the slowest of 40", *std::ranges::max_element(small), 50);
  msRow("cursor step, a weight of 884,736 elements", median(large), 50);
  msRow("  the slowest of 40", *std::ranges::max_element(large), 50);
  msRow("a scope of 500 nodes expands", median(deep), 300);
  row("until the check of the whole run is shown", median(finding), "s", "in the background");
  return 0;
}
