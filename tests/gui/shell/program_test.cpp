// msdbg-gui as a user starts it, without a display.
#include <QImage>
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "app/gui/theme.h"
#include "graph_view/scene/look.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {
namespace {

RunResult runWindow(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), (buildDir() / "bin/msdbg-gui").string());
  return runCommand(arguments,
                    {.environment = {{"DISPLAY", ""}, {"WAYLAND_DISPLAY", ""}, {"QT_QPA_PLATFORM", ""}}});
}

// Of what has the colour of faults.
QRect boundsOfFaults(const QImage& image) {
  gui();
  app::ThemeController theme;
  theme.setTheme(app::Theme::kLight);
  const QColor fault = graphview::lookOf(QApplication::palette()).fault;
  QRect bounds;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      if (image.pixelColor(x, y) == fault) bounds |= QRect(x, y, 1, 1);
  return bounds;
}

}  // namespace

TEST_CASE("A screenshot needs no display and has the size that was asked for", "[gui]") {
  const TempDir folder;
  const std::string file = (folder / "window.png").string();
  const RunResult result = runWindow({nanRun().string(), "--screenshot", file, "--size", "1400x900", "--node",
                                      "*conv2/Conv-op1", "--iteration", "4", "--rank", "1"});
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
  CHECK_THAT(result.err, !Catch::Contains("This plugin does not support"));
  const QImage light(QString::fromStdString(file));
  CHECK(light.size() == QSize(1400, 900));
  REQUIRE(runWindow({nanRun().string(), "--screenshot", file, "--theme", "dark"}).exitStatus == 0);
  const QImage dark(QString::fromStdString(file));
  CHECK(dark.size() == QSize(1280, 800));
  CHECK(dark.pixelColor(2, 2).lightness() < light.pixelColor(2, 2).lightness());
}

TEST_CASE("Marks in the source's margin stand beside their lines at two pixels to a point", "[gui]") {
  const TempDir folder;
  const auto marks = [&](const char* scale) {
    const std::string file = (folder / scale).string() + ".png";
    const RunResult result =
        runCommand({(buildDir() / "bin/msdbg-gui").string(), nanRun().string(), "--screenshot", file,
                    "--panel", "source", "--theme", "light"},
                   {.environment = {{"DISPLAY", ""}, {"QT_QPA_PLATFORM", ""}, {"QT_SCALE_FACTOR", scale}}});
    INFO(result.err);
    REQUIRE(result.exitStatus == 0);
    return boundsOfFaults(QImage(QString::fromStdString(file)));
  };
  const QRect once = marks("1"), twice = marks("2");
  REQUIRE_FALSE(once.isEmpty());
  CHECK(std::abs(twice.center().y() - 2 * once.center().y()) <= 3);
  CHECK(std::abs(twice.center().x() - 2 * once.center().x()) <= 3);
  CHECK(std::abs(twice.height() - 2 * once.height()) <= 4);
}

TEST_CASE("A display that cannot be used is said in one line, without advice to install Qt again", "[gui]") {
  const RunResult result =
      runCommand({(buildDir() / "bin/msdbg-gui").string(), nanRun().string()},
                 {.environment = {{"DISPLAY", ":4711"}, {"WAYLAND_DISPLAY", ""}, {"QT_QPA_PLATFORM", ""}}});
  CHECK(result.exitStatus == 1);
  CHECK(std::ranges::count(result.err, '\n') == 1);
  CHECK_THAT(result.err, Catch::Contains(":4711 cannot be used") && !Catch::Contains("einstall"));
}

TEST_CASE("SIGTERM closes the window as its user would: the place is kept", "[gui]") {
  const TempDir folder;
  const std::filesystem::path run = copyOf(nanRun(), folder.path());
  // However slow the machine: it is asked to end once it listens, and had time to show its place.
  const std::string whenItListens =
      "\"$@\" & p=$!\n"
      "until (( 0x$(sed -n 's/^SigCgt:[[:space:]]*//p' /proc/$p/status) & 0x4000 )); do sleep 0.05; done\n"
      "sleep 3; kill -TERM $p; wait $p";
  const RunResult result =
      runCommand({"bash", "-c", whenItListens, "bash", (buildDir() / "bin/msdbg-gui").string(), run.string(),
                  "--iteration", "3"},
                 {.environment = {{"QT_QPA_PLATFORM", "offscreen"}}});
  INFO(result.err);
  CHECK(result.exitStatus == 0);
  std::ifstream kept(run / "session.json");
  const std::string text{std::istreambuf_iterator<char>(kept), {}};
  CHECK_THAT(text, Catch::Contains("\"iteration\": 3"));
}

TEST_CASE("Without a display the window says what works without one", "[gui]") {
  const RunResult result = runWindow({nanRun().string()});
  CHECK(result.exitStatus == 1);
  CHECK_THAT(result.err, Catch::Contains("--screenshot") && Catch::Contains("msdbg check"));
}

TEST_CASE("A run that is missing is said to be so before a display is asked for", "[gui]") {
  const RunResult result = runWindow({"missing.msdbg"});
  CHECK(result.exitStatus == 1);
  CHECK(result.err == "msdbg-gui: there is no run missing.msdbg\n");
}

TEST_CASE("A screenshot of what is no run, or of no such place, fails with the reason", "[gui]") {
  const TempDir folder;
  const std::string file = (folder / "window.png").string();
  const RunResult none = runWindow({folder.path().string(), "--screenshot", file});
  CHECK(none.exitStatus == 1);
  CHECK_THAT(none.err, Catch::Contains("run.json"));
  const RunResult far = runWindow({nanRun().string(), "--screenshot", file, "--iteration", "99"});
  CHECK(far.exitStatus == 2);
  CHECK_THAT(far.err, Catch::Contains("iteration 99"));
  const RunResult unwritable =
      runWindow({nanRun().string(), "--screenshot", (folder / "no/such/p.png").string()});
  CHECK(unwritable.exitStatus == 1);
  CHECK_THAT(unwritable.err, Catch::Contains("cannot write"));
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("Help and version of the window need no display", "[gui]") {
  const RunResult help = runWindow({"--help"});
  CHECK(help.exitStatus == 0);
  CHECK_THAT(help.out, Catch::Contains("--screenshot") && Catch::Contains("[RUN]"));
  CHECK_THAT(runWindow({"--version"}).out, Catch::Contains("msdbg-gui 0."));
  CHECK(runWindow({"--size", "small"}).exitStatus == 2);
}

}  // namespace msdbg::test
