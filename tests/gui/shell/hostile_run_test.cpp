// Runs that are damaged, strange or vanish: a message in their place, the rest works, nothing is waited for.
#include <sys/stat.h>

#include <QComboBox>
#include <QLabel>
#include <QSpinBox>
#include <QTabWidget>
#include <catch2/catch.hpp>
#include <fstream>

#include "app/panels/builtin_panels.h"
#include "core_engine/base/text.h"
#include "tests/gui/support/runs.h"
#include "tests/gui/support/strange_runs.h"
#include "tests/gui/support/window.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> filesOf(const fs::path& run) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(run))
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(run));
  return files;
}

// Puts other bytes in the place of a file, then the old ones again.
class Instead {
 public:
  explicit Instead(fs::path file) : m_file(std::move(file)), m_kept(m_file.string() + ".kept") {
    fs::rename(m_file, m_kept);
  }
  ~Instead() {
    fs::remove(m_file);
    fs::rename(m_kept, m_file);
  }
  std::string before() const {
    std::ifstream in(m_kept, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& bytes) { std::ofstream(m_file, std::ios::binary) << bytes; }

 private:
  fs::path m_file, m_kept;
};

void walk(Window& w) {
  auto* tabs = w.window.findChild<QTabWidget*>("tensorTabs");
  const core::Graph& graph = w.window.document()->graph();
  for (const char* step : {"firstFinding", "nextHit", "lastIteration", "previousRank", "backTen", "nextRank",
                           "forwardTen", "previousHit", "back", "forward", "copyCommand"}) {
    tabs->setCurrentIndex((tabs->currentIndex() + 1) % tabs->count());
    w.trigger(step);
  }
  for (const core::TensorInfo& tensor : graph.tensors()) {
    w.window.document()->cursor().selectTensor(tensor.id);
    if (tensor.id.value % 4 == 0) REQUIRE(eventually([&] { return w.window.settled(); }));
  }
  w.waitForCheck();
}

}  // namespace

TEST_CASE("Every file of a run damaged in turn: a reason, or a window that works", "[gui]") {
  const TempDir folder;
  const fs::path run = copyOf(nanRun(), folder.path());
  Window w;
  for (const fs::path& file : filesOf(run)) {
    if (*file.begin() == "rank_0") continue;  // as rank 1
    for (const bool shorter : {true, false}) {
      CAPTURE(file, shorter);
      Instead other(run / file);
      std::string bytes = other.before();
      if (shorter) bytes.resize(bytes.size() / 2);
      for (std::size_t i = 100; i < bytes.size() && !shorter; i += bytes.size() / 5) bytes[i] ^= 4;
      other.put(bytes);
      w.open(run);
      if (!w.failure.isEmpty()) {
        CHECK(w.window.message().contains(QString::fromStdString(file.filename().string())));
        continue;
      }
      w.waitForCheck();
      w.trigger("lastIteration");
      w.trigger("firstFinding");
      REQUIRE(eventually([&] { return w.window.settled(); }));
      CHECK(w.window.document()->findings().state() == app::Findings::State::kDone);
      w.trigger("closeRun");
    }
  }
}

TEST_CASE("A pipe in the place of a file of the run is refused, not waited for", "[gui]") {
  const TempDir folder;
  const fs::path run = copyOf(nanRun(), folder.path());
  std::ofstream(run / "session.json") << "{}";
  Window w;
  for (const fs::path& file : filesOf(run)) {
    CAPTURE(file);
    Instead pipe(run / file);
    REQUIRE(::mkfifo((run / file).c_str(), 0600) == 0);
    w.open(run);
    CHECK(w.failure.isEmpty() == (file.extension() != ".pb"));
    const bool copy =
        file.has_parent_path() && file.filename() == "run.json";  // not read while the first is there
    if (!copy) CHECK_THAT(w.window.message().toStdString(), Catch::Contains(file.filename().string()));
    w.trigger("closeRun");
  }
}

TEST_CASE("What is damaged is told in a few lines, however much it is", "[gui]") {
  const TempDir folder;
  Window w;
  w.open(runOfLostRanks(folder / "lost.msdbg"));
  w.waitForCheck();
  CHECK(w.window.document()->facts().damage.size() == 62);
  CHECK(w.window.message().count('\n') == 4);
  CHECK_THAT(w.window.message().toStdString(), Catch::Contains("59 more: msdbg verify"));
}

TEST_CASE("Names that look like markup are shown as they are, and copied commands work", "[gui]") {
  const TempDir folder;
  const fs::path run = strangeRun(folder / "-a & <b>it's\n\"run\".msdbg");
  const fs::path here = fs::current_path();
  fs::current_path(folder.path());  // the run's name alone would look like an option
  Window w;
  w.open(run);
  w.waitForCheck();
  const std::string path = (buildDir() / "bin").string() + ":" + std::getenv("PATH");
  for (const core::Node& node : w.window.document()->graph().nodes()) {
    w.window.document()->cursor().selectNode(node.id);
    REQUIRE(eventually([&] { return w.window.settled(); }));
    for (const char* id : {"graph", "tensor"}) {
      const std::string command = w.window.panel(id)->command().toStdString();
      const RunResult result = runCommand({"sh", "-c", command}, {.environment = {{"PATH", path}}});
      CAPTURE(command, result.err);
      CHECK(result.exitStatus == 0);
      CHECK_THAT(result.out,
                 Catch::Contains(id == std::string_view("graph") ? core::printable(node.name) : "<i>Op&"));
    }
    for (const QLabel* label : w.window.findChildren<QLabel*>()) {
      CAPTURE(label->objectName().toStdString(), label->text().toStdString());
      CHECK((label->textFormat() == Qt::PlainText || !label->text().contains("<b>")));
    }
  }
  fs::current_path(here);
  walk(w);
}

TEST_CASE("A rank without iterations says so, and the way back is open", "[gui]") {
  const TempDir folder;
  Window w;
  w.open(unevenRun(folder / "uneven.msdbg"));
  w.waitForCheck();
  w.trigger("lastIteration");
  w.trigger("nextRank");
  REQUIRE(eventually([&] { return w.window.settled(); }));
  CHECK(w.place().rank == core::Rank(1));
  CHECK_FALSE(w.place().iteration.valid());
  CHECK(w.window.findChild<QLabel*>("placeLabel")->text() == "rank 1 recorded no iteration");
  CHECK(w.window.findChild<QComboBox*>("rankCombo")->currentText() == "Rank 1");
  CHECK_FALSE(w.window.findChild<QSpinBox*>("iterationSpin")->isEnabled());
  CHECK_FALSE(w.window.panel("tensor")->command().contains(" -1"));
  w.trigger("nextRank");
  REQUIRE(eventually([&] { return w.window.settled(); }));
  CHECK(w.window.findChild<QComboBox*>("rankCombo")->currentText() == "Rank 2");
  CHECK(w.window.findChild<QSpinBox*>("iterationSpin")->isEnabled());
  CHECK(w.window.findChild<QLabel*>("runState")->text().startsWith("killed"));
  walk(w);
}

TEST_CASE("A run without iterations shows its graph and claims nothing", "[gui]") {
  const TempDir folder;
  Window w;
  w.open(runWithoutIterations(folder / "none.msdbg"));
  w.waitForCheck();
  CHECK(w.window.findChild<QLabel*>("placeLabel")->text() == "no iteration is recorded");
  CHECK(w.window.findChild<QLabel*>("checkState")->text() == "nothing could be checked");
  CHECK(app::resolveStart(w.window.document()->facts(), {"", {}, 0}).ok());
  CHECK_FALSE(app::resolveStart(w.window.document()->facts(), {"", 0, {}}).ok());
  walk(w);
  for (const app::PanelFactory factory : app::builtinPanels())
    CHECK_FALSE(w.window.panel(factory().id)->command().contains(" -1"));
}

TEST_CASE("A run that vanished stays as it is when it is loaded again, with the reason", "[gui]") {
  const TempDir folder;
  const fs::path run = copyOf(cleanRun(), folder.path());
  Window w;
  w.open(run);
  w.waitForCheck();
  fs::remove_all(run);
  const app::Document* before = w.window.document();
  w.trigger("reload");
  REQUIRE(eventually([&] { return !w.failure.isEmpty(); }));
  CHECK(w.window.document() == before);
  CHECK_THAT(w.window.message().toStdString(), Catch::Contains("no such run folder"));
}

}  // namespace msdbg::test
